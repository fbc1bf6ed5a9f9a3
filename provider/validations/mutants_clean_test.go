package validations

func brokenClean() []brokenRule { return nil }
