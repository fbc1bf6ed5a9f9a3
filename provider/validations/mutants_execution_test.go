package validations

func brokenExecution() []brokenRule { return nil }
