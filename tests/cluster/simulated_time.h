// Simulated time: a queue of events and a thread, the driver, that brings one after the other.
// Before each event it waits until all other threads of the process sleep, and sets the clock to
// the time at which the event is due. So hours pass in milliseconds, nothing is ever too late
// because a machine is busy, and what an event sets going has come to rest before the next one.
//
// Code that is simulated must not wait for real time to pass.
#ifndef LEAT_TESTS_CLUSTER_SIMULATED_TIME_H_
#define LEAT_TESTS_CLUSTER_SIMULATED_TIME_H_

#include <stdint.h>

// Waits for the end of what is under way, and sets the clock to 0. The first call starts the
// driver.
void simulated_time_begin(void);
// Has |fn|(|data|) called in |delay_ms|, on a thread of its own, where it may block.
void simulated_after(int64_t delay_ms, void (*fn)(void* data), void* data);
// Has it called in the same way whenever nothing is under way any more; an hour passes first.
void simulated_set_idle(void (*fn)(void* data), void* data);
// Waits until nothing is under way any more; nothing is called when idle from then on.
void simulated_drain(void);

// ---- For what is simulated ----------------------------------------------------------------------

// The lock of all state that is simulated.
void simulated_lock(void);
void simulated_unlock(void);
// The rest is called with the lock. This one waits for a notification, or for the next event.
void simulated_wait(void);
void simulated_notify(void);
int64_t simulated_now_ms(void);
// Has the driver call |fn|(|data|) in |delay_ms|, with the lock, so that it must not block. Of
// events of one time that with the lower |order| comes first.
void simulated_add(int64_t delay_ms, uint64_t order, void (*fn)(void* data), void* data);
// Has |fn|(|data|) called on a thread that has nothing else to do.
void simulated_spawn(void (*fn)(void* data), void* data);

#endif  // LEAT_TESTS_CLUSTER_SIMULATED_TIME_H_
