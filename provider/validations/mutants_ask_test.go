package validations

func brokenAsk() []brokenRule { return nil }
