package validations

func brokenTasks() []brokenRule { return nil }
