package shared_test

import "time"

func fixture() time.Time { return time.Now() }
