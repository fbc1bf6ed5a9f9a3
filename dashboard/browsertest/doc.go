// Package browsertest tests the dashboard in a browser: every page and every act, with the keyboard alone, without JavaScript, on a narrow
// screen, and in both schemes of colours. It is a module of its own. Run it with make test-browser.
package browsertest
