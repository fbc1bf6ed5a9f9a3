package validations

func brokenLimits() []brokenRule { return nil }
