package validations

import "github.com/perdure/perdure/provider"

// delayedLevels sends messages with a delay. Those raise the level as they are stored, not as they become visible.
func delayedLevels() []testCase {
	return []testCase{{name: "level-of-delayed", run: levelOfDelayed, rule: storingRaises}}
}

func levelOfDelayed(t *trial) {
	delayed := func(level int64) provider.NewMessage {
		m := levelled("late", level)
		m.Delay = long
		return m
	}
	to, i := t.begin("to"), t.begin("i", func(r *provider.CommitTurnRequest) { r.Tasks = []provider.NewTask{newTask(1)} })
	t.send(i.Key, delayed(1))
	t.levelIs("a delayed message", i.Key, 1)
	req := join("i", "", "m")
	req.Messages = []provider.NewMessage{delayed(2)}
	t.joins(i.Key, req)
	t.levelIs("a delayed message of a start", i.Key, 2)
	refused := delayed(3)
	own := next(t.get(i.Key))
	own.Sends = []provider.OutMessage{{Key: to.Key, Message: delayed(3)}, {ID: "nobody", Message: text("m"), Refused: &refused}}
	t.commit(own)
	t.levelIs("a delayed message of a commit", to.Key, 3)
	t.levelIs("a delayed refusal", i.Key, 3)
	t.ok(t.report(t.fetchTask(), provider.TaskComplete, func(r *provider.TaskReport) { r.Message = delayed(4) }).Err)
	t.levelIs("a delayed result", i.Key, 4)
	t.levelIs("a delayed start message", t.create("late", func(r *provider.CreateRequest) { r.Message = delayed(5) }).Key, 5)
}
