package validations

func brokenClose() []brokenRule { return nil }
