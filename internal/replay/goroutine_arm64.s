#include "textflag.h"

// func currentGoroutine() uint64
TEXT ·currentGoroutine(SB), NOSPLIT, $0-8
	MOVD g, R0
	MOVD R0, ret+0(FP)
	RET
