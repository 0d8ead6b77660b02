// Ops that tests put into graphs to see what the runtime does: which nodes ran, in what order, and
// kernels that wait, fail or work long.
//
//   ProbeMark(id)            no input, no output: notes that it ran
//   ProbePass(x, id) -> y    x itself, noted
//   ProbeFail(x, code) -> y  fails with |code|
//   ProbeWait(x, id) -> y    asynchronous: x, when probe_open(id) has been or is called; is
//                            cancelled with its step
//   ProbeWork(x) -> y        expensive: x + 1 (float), in a buffer of its own
//   ProbeNowhere(x) -> y     has no kernel on any device
#ifndef LEAT_TESTS_SESSION_PROBE_H_
#define LEAT_TESTS_SESSION_PROBE_H_

#include "session/session.h"

enum { kProbeIds = 64 };

// The runtime of the process with the ops above.
LEAT_MUST_USE leat_status_t probe_runtime(const leat_runtime_t** out_runtime);
void probe_reset(void);        // forgets counts and closes the gates
int probe_count(int id);       // how often the node of that id ran
bool probe_ran_here(int id);   // whether it ran last on the calling thread
bool probe_ran_together(int id, int other);  // whether the two ran last on one thread
int probe_order(int id);       // its place among all that ran, from 1; 0: it did not
void probe_open(int id);       // lets the nodes that wait under that id, now and later, go on
int probe_waiting(int id);     // how many wait

#endif  // LEAT_TESTS_SESSION_PROBE_H_
