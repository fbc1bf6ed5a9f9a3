package provider

// As finds the interface T in p or in a provider that p decorates. A decorator has a method Unwrap() Provider.
//
// A decorator has an optional interface of this package only if the provider that it decorates has it, too. So a
// decorator may implement all of them, and passes on what is there. As finds nothing of a [Full] itself.
func As[T any](p Provider) (T, bool) {
	var none T
	for p != nil {
		if full, ok := p.(*Full); ok {
			p = full.Provider
			continue
		}
		u, decorates := p.(interface{ Unwrap() Provider })
		if t, ok := p.(T); ok {
			if !decorates || !optional[T]() {
				return t, true
			}
			if _, has := As[T](u.Unwrap()); has {
				return t, true
			}
			return none, false
		}
		if !decorates {
			break
		}
		p = u.Unwrap()
	}
	return none, false
}

// optional reports whether T is an optional interface of this package.
func optional[T any]() bool {
	switch any((*T)(nil)).(type) {
	case *Asker, *Lister, *Meter, *Cleaner, *Redriver, *Keeper, *Featured, *Counter, *Opener, *TaskSteerer, *TaskLister, *FailureGrouper, *Trimmer,
		*Compactor, *Notifier, *Migrator, *Inspector, *Transactor, *Mover, *Backuper:
		return true
	default:
		return false
	}
}
