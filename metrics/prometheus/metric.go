package prometheus

import (
	prom "github.com/prometheus/client_golang/prometheus"
)

// The types of metrics.
const (
	counter   = "counter"
	gauge     = "gauge"
	histogram = "histogram"
)

// The labels of metrics.
const (
	orchestrationLabel = "orchestration"
	activityLabel      = "activity"
	queueLabel         = "queue"
	outcomeLabel       = "outcome"
	sourceLabel        = "source"
	reasonLabel        = "reason"
	kindLabel          = "kind"
	localLabel         = "local"
	operationLabel     = "operation"
	statusLabel        = "status"
	nameLabel          = "name"
)

// metric describes a metric.
type metric struct {
	name    string
	kind    string
	labels  []string
	buckets []float64
	help    string
}

// The buckets of histograms, in seconds or events.
var (
	quick = []float64{ //nolint:gochecknoglobals // constant table
		.0005, .001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10,
	}
	waits = []float64{ //nolint:gochecknoglobals // constant table
		.001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30, 60, 300, 900, 3_600,
	}
	work = []float64{ //nolint:gochecknoglobals // constant table
		.001, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30, 60, 300, 900, 3_600, 21_600, 86_400,
	}
	lives = []float64{ //nolint:gochecknoglobals // constant table
		.01, .05, .1, .5, 1, 5, 10, 30, 60, 300, 900, 3_600, 21_600, 86_400, 604_800, 2_592_000,
	}
	amounts = []float64{ //nolint:gochecknoglobals // constant table
		.001, .01, .1, 1, 10, 100, 1_000, 10_000, 100_000, 1_000_000,
	}
	lengths = []float64{ //nolint:gochecknoglobals // constant table
		10, 30, 100, 300, 1_000, 3_000, 10_000, 30_000, 50_000,
	}
)

// The names of the metrics.
const (
	startedTotal     = "perdure_orchestration_started_total"
	endedTotal       = "perdure_orchestration_ended_total"
	lifeSeconds      = "perdure_orchestration_duration_seconds"
	historyEvents    = "perdure_orchestration_history_events"
	turnSeconds      = "perdure_turn_duration_seconds"
	turnWait         = "perdure_turn_wait_duration_seconds"
	replaySeconds    = "perdure_replay_duration_seconds"
	blockedTotal     = "perdure_turn_blocked_total"
	activitySeconds  = "perdure_activity_duration_seconds"
	activityWait     = "perdure_activity_wait_duration_seconds"
	activityTotal    = "perdure_activity_total_duration_seconds"
	activityCancel   = "perdure_activity_cancel_duration_seconds"
	poisonedTotal    = "perdure_task_poisoned_total"
	leaseLostTotal   = "perdure_lease_lost_total"
	droppedTotal     = "perdure_message_dropped_total"
	querySeconds     = "perdure_query_duration_seconds"
	updateSeconds    = "perdure_update_duration_seconds"
	scheduleTotal    = "perdure_schedule_actions_total"
	scheduleLag      = "perdure_schedule_lag_duration_seconds"
	operationSeconds = "perdure_provider_operation_duration_seconds"
	codeCounted      = "perdure_code_counted_total"
	codeObserved     = "perdure_code_observed"

	slotsUsed       = "perdure_node_slots_used"
	slotsLimit      = "perdure_node_slots_limit"
	cacheExecutions = "perdure_node_cache_executions"
	cacheBytes      = "perdure_node_cache_bytes"
	cacheEvicted    = "perdure_node_cache_evicted_total"
	leaked          = "perdure_node_leaked"
	headersLeftOut  = "perdure_node_headers_left_out_total"
	eventsDropped   = "perdure_node_observer_dropped_total"
	figuresLost     = "perdure_node_figures_lost_total"

	storeInstances   = "perdure_store_instances"
	storeTurns       = "perdure_store_turns_ready"
	storeTurnsAge    = "perdure_store_turns_oldest_age_seconds"
	storeTasks       = "perdure_store_tasks_ready"
	storeTasksAge    = "perdure_store_tasks_oldest_age_seconds"
	storeUnserved    = "perdure_store_unserved"
	storeBlocked     = "perdure_store_blocked"
	storeRetrying    = "perdure_store_retrying"
	storeDeadLetters = "perdure_store_dead_letters"
)

// metrics are all of them, in the order of the reference page.
var metrics = []metric{ //nolint:gochecknoglobals // constant table
	{startedTotal, counter, []string{orchestrationLabel}, nil, "Instances whose first turn is stored."},
	{endedTotal, counter, []string{orchestrationLabel, outcomeLabel}, nil, "Executions that ended."},
	{lifeSeconds, histogram, []string{orchestrationLabel, outcomeLabel}, lives, "From the start of an instance to its end, or of an execution to its successor."},
	{historyEvents, histogram, []string{orchestrationLabel}, lengths, "Events of the history of an execution at its end."},
	{turnSeconds, histogram, []string{orchestrationLabel, sourceLabel, outcomeLabel}, quick, "Turns, with their commit."},
	{turnWait, histogram, []string{orchestrationLabel}, waits, "From the moment when its first message was visible until a turn began."},
	{replaySeconds, histogram, []string{orchestrationLabel}, quick, "Executions rebuilt from their history for a turn, with reading it."},
	{blockedTotal, counter, []string{orchestrationLabel, reasonLabel}, nil, "Instances that became blocked, once per cause."},
	{activitySeconds, histogram, []string{activityLabel, queueLabel, localLabel, outcomeLabel}, work, "Attempts of activities."},
	{activityWait, histogram, []string{activityLabel, queueLabel}, waits, "From the call of an activity, and its delay, until its first attempt began."},
	{activityTotal, histogram, []string{activityLabel, outcomeLabel}, work, "From the call of an activity to its end, with all attempts."},
	{activityCancel, histogram, []string{activityLabel}, work, "From the request to cancel an attempt until its code came back."},
	{poisonedTotal, counter, []string{activityLabel}, nil, "Tasks moved to the dead letters because they could not be run."},
	{leaseLostTotal, counter, []string{kindLabel}, nil, "Leases of attempts that were lost, while they ran (attempt) or before their report (report)."},
	{droppedTotal, counter, []string{reasonLabel}, nil, "Messages of no use to their execution any more."},
	{querySeconds, histogram, []string{orchestrationLabel, outcomeLabel}, quick, "Queries that this node answered."},
	{updateSeconds, histogram, []string{orchestrationLabel, outcomeLabel}, work, "Updates, from their arrival to their outcome."},
	{scheduleTotal, counter, []string{orchestrationLabel, outcomeLabel}, nil, "Due times of schedules, and triggers, by what became of them."},
	{scheduleLag, histogram, []string{orchestrationLabel}, waits, "From the due time of a schedule until the first turn of its instance was stored."},
	{operationSeconds, histogram, []string{operationLabel, outcomeLabel}, quick, "Calls of the store, without those that wait for work."},
	{codeCounted, counter, []string{orchestrationLabel, nameLabel}, nil, "What code of orchestrations counts, over all attributes."},
	{codeObserved, histogram, []string{orchestrationLabel, nameLabel}, amounts, "What code of orchestrations observes, over all attributes."},

	{slotsUsed, gauge, []string{kindLabel}, nil, "Slots in use: turn, activity, or the name of a pool."},
	{slotsLimit, gauge, []string{kindLabel}, nil, "Slots that there are."},
	{cacheExecutions, gauge, nil, nil, "Executions in the cache."},
	{cacheBytes, gauge, nil, nil, "Their estimated memory."},
	{cacheEvicted, counter, nil, nil, "Executions thrown away."},
	{leaked, gauge, nil, nil, "Functions of users that did not return within the grace period and still run."},
	{headersLeftOut, counter, nil, nil, "Headers beyond the limits."},
	{eventsDropped, counter, nil, nil, "Events that observers were too slow for: other figures are too low by them."},
	{figuresLost, counter, nil, nil, "Figures of code that were left out, or whose commit has an unknown outcome."},

	{storeInstances, gauge, []string{statusLabel}, nil, "Instances by status; 10001 means more than 10000."},
	{storeTurns, gauge, []string{orchestrationLabel}, nil, "Instances ready for a turn."},
	{storeTurnsAge, gauge, []string{orchestrationLabel}, nil, "How long the oldest of them waits."},
	{storeTasks, gauge, []string{queueLabel, activityLabel}, nil, "Activities that could begin."},
	{storeTasksAge, gauge, []string{queueLabel, activityLabel}, nil, "How long the oldest of them waits."},
	{storeUnserved, gauge, []string{kindLabel}, nil, "Work that the node cannot run which reads the store, and instances of versions that no node has."},
	{storeBlocked, gauge, nil, nil, "Blocked instances; 10001 means more than 10000."},
	{storeRetrying, gauge, nil, nil, "Instances with an activity that is tried again; a lower bound above 5000 activities. Missing if the store cannot tell."},
	{storeDeadLetters, gauge, nil, nil, "Dead letters; 100 means 100 or more."},
}

// vectors are the counters and histograms.
type vectors struct {
	counters   map[string]*prom.CounterVec
	histograms map[string]*prom.HistogramVec
	gauges     map[string]*prom.Desc // of what a scrape reads
}

func newVectors() vectors {
	v := vectors{
		counters: map[string]*prom.CounterVec{}, histograms: map[string]*prom.HistogramVec{}, gauges: map[string]*prom.Desc{},
	}
	for i := range metrics {
		m := &metrics[i]
		switch {
		case m.kind == histogram:
			v.histograms[m.name] = prom.NewHistogramVec(prom.HistogramOpts{Name: m.name, Help: m.help, Buckets: m.buckets}, m.labels)
		case m.kind == counter && len(m.labels) > 0:
			v.counters[m.name] = prom.NewCounterVec(prom.CounterOpts{Name: m.name, Help: m.help}, m.labels)
		default:
			v.gauges[m.name] = prom.NewDesc(m.name, m.help, m.labels, nil)
		}
	}
	return v
}
