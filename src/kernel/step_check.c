// Cancellation is checked before the deadline, because it costs less and says more. A checked loop
// is cut into blocks of about LEAT_STEP_CHECK_NS, and the check is made before each block; a thread
// variable tells code below the loop which step it works for. Loops nest, so the variable is put
// back behind each.
#include "kernel/step_check.h"

#include "base/checked.h"
#include "base/clock.h"
#include "kernel/cancellation.h"

static bool is_cancelled(const leat_step_services_t* services) {
  return (services->stopped && atomic_load_explicit(services->stopped, memory_order_relaxed)) ||
         (services->cancellation && leat_cancellation_is_cancelled(services->cancellation));
}

static bool has_deadline(const leat_step_services_t* services) {
  return services->deadline_ns && services->deadline_ns != LEAT_DEADLINE_NEVER;
}

bool leat_step_is_over(const leat_step_services_t* services, bool reads_clock) {
  return is_cancelled(services) || (reads_clock && has_deadline(services) &&
                                    leat_clock_now_ns() > services->deadline_ns);
}

leat_status_t leat_step_check(const leat_step_services_t* services, bool reads_clock) {
  if (LEAT_LIKELY(!leat_step_is_over(services, reads_clock))) return leat_ok_status();
  if (is_cancelled(services)) {
    return leat_make_status(LEAT_CANCELLED, "Run failed: the step was cancelled");
  }
  return leat_step_timeout();
}

// ---- Loops --------------------------------------------------------------------------------------

typedef struct checked_loop_s {
  const leat_step_services_t* services;
  leat_shard_fn_t fn;
  void* data;
  int64_t block;  // items between two checks
} checked_loop_t;

// The step of the innermost checked loop that this thread runs; NULL: there is none.
static LEAT_THREAD_LOCAL const leat_step_services_t* running;

bool leat_step_loop_is_over(void) { return running && leat_step_is_over(running, true); }

static void run_checked(void* data, int64_t begin, int64_t end) {
  const checked_loop_t* loop = data;
  const leat_step_services_t* former = running;
  running = loop->services;
  while (begin < end && !leat_step_is_over(loop->services, true)) {
    int64_t next = begin + LEAT_MIN(loop->block, end - begin);
    loop->fn(loop->data, begin, next);
    begin = next;
  }
  running = former;
}

void leat_kernel_parallel_for_checked(const leat_kernel_context_t* c, int64_t total,
                                      double cost_per_item_ns, leat_shard_fn_t fn, void* data) {
  double items = LEAT_STEP_CHECK_NS / cost_per_item_ns;
  checked_loop_t loop = {.services = c->services,
                         .fn = fn,
                         .data = data,
                         .block = items < 1 ? 1 : items < (double)total ? (int64_t)items : total};
  leat_kernel_parallel_for_unbroken(c, total, cost_per_item_ns, run_checked, &loop);
}
