// The sequence executor: the records of a plan one after the other, with jumps for loops and tests
// for conditions (section 4.4). There is no counting and no queue, and values stay where they are.
//
// Whether a value is live is a flag, a byte of the instance. Flag 0 is always set: it stands for
// whatever does not depend on a condition. A record sets one flag, or none (0); a Switch sets three
// that follow each other: for its false side, its true side, and itself.
#ifndef LEAT_WORKER_SEQUENCE_H_
#define LEAT_WORKER_SEQUENCE_H_

#include "worker/execution.h"

#define LEAT_FLAG_ALWAYS 0

// Runs the step on the calling thread. Where it must wait for an asynchronous kernel this returns,
// and the rest runs on the thread on which the kernel ends, or the one that waits for the step.
void leat_sequence_run(leat_execution_t* execution);

#endif  // LEAT_WORKER_SEQUENCE_H_
