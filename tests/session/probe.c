// Ops that tests put into graphs to see what the runtime does (probe.h): they note that they ran,
// in which order and on which thread, wait until the test opens them, fail, or work. The notes are
// global and under one mutex, since kernels of many steps write them and the test reads them while
// steps run; probe_reset clears them between tests. A waiting kernel lies in a list of waiters
// until probe_open or its step's cancellation takes it out. Whoever takes it out under the mutex is
// the one who ends it, so that it ends exactly once.
#include "session/probe.h"

#include "base/sync.h"
#include "graph/inference/inference.h"
#include "init.h"
#include "kernel/cancellation.h"

typedef struct waiter_s {
  struct waiter_s* next;
  leat_kernel_context_t* context;
  leat_kernel_done_fn_t done;
  uint64_t token;
  int id;
} waiter_t;

static leat_mutex_t mutex = {PTHREAD_MUTEX_INITIALIZER};
static int counts[kProbeIds], orders[kProbeIds], next_order;
static LEAT_THREAD_LOCAL char here;         // a thread is known by its address
static const char* threads[kProbeIds];
static bool open_gates[kProbeIds];
static waiter_t* waiters;

static leat_status_t make_id(leat_kernel_creation_t* c, void* state) {
  return leat_kernel_attr_int(c, "id", state);
}

static int id_of(leat_kernel_context_t* c) {
  return (int)(*(int64_t*)leat_kernel_state(c) % kProbeIds);
}

static void note(int id) {
  leat_mutex_lock(&mutex);
  ++counts[id];
  orders[id] = ++next_order;
  threads[id] = &here;
  leat_mutex_unlock(&mutex);
}

static leat_status_t mark(leat_kernel_context_t* c) {
  note(id_of(c));
  return leat_ok_status();
}

static leat_status_t pass(leat_kernel_context_t* c) {
  note(id_of(c));
  leat_kernel_pass_input(c, 0, 0);
  return leat_ok_status();
}

static leat_status_t make_code(leat_kernel_creation_t* c, void* state) {
  return leat_kernel_attr_int(c, "code", state);
}

static leat_status_t fail_with(leat_kernel_context_t* c) {
  return leat_kernel_error(c, (leat_status_code_t) * (int64_t*)leat_kernel_state(c),
                           "the probe fails");
}

static leat_status_t work(leat_kernel_context_t* c) {
  const leat_tensor_t* x = leat_kernel_input(c, 0);
  leat_tensor_t* y;
  LEAT_RETURN_IF_ERROR(leat_kernel_allocate_output(c, 0, &x->shape, &y));
  for (int64_t i = 0; i < x->shape.element_count; ++i) {
    leat_tensor_data(y, float)[i] = leat_tensor_data(x, const float)[i] + 1;
  }
  return leat_ok_status();
}

static leat_status_t forward(leat_kernel_context_t* c) {
  leat_kernel_pass_input(c, 0, 0);
  return leat_ok_status();
}

static void let_go(leat_kernel_context_t* c, leat_kernel_done_fn_t done, int id) {
  note(id);
  leat_kernel_pass_input(c, 0, 0);
  done(c, leat_ok_status());
}

static void cancelled(void* data) {
  waiter_t* waiter = data;
  leat_mutex_lock(&mutex);
  waiter_t** w = &waiters;
  while (*w && *w != waiter) w = &(*w)->next;
  bool found = *w != NULL;
  if (found) *w = waiter->next;
  leat_mutex_unlock(&mutex);
  if (!found) return;
  leat_kernel_context_t* context = waiter->context;
  leat_kernel_done_fn_t done = waiter->done;
  leat_allocator_free(leat_allocator_system(), waiter);
  done(context, leat_make_status(LEAT_CANCELLED, "the probe's step was cancelled"));
}

static void wait_for_gate(leat_kernel_context_t* c, leat_kernel_done_fn_t done) {
  int id = id_of(c);
  waiter_t* waiter;
  leat_status_t status = LEAT_ALLOCATE(leat_allocator_system(), 1, &waiter);
  if (status) {
    done(c, status);
    return;
  }
  leat_cancellation_t* cancellation = c->services->cancellation;
  leat_mutex_lock(&mutex);
  bool opened = open_gates[id];
  bool waits = !opened;
  if (waits) {
    *waiter = (waiter_t){waiters, c, done, 0, id};
    if (cancellation) {
      waits = leat_cancellation_register(cancellation, cancelled, waiter, &waiter->token);
    }
    if (waits) waiters = waiter;
  }
  leat_mutex_unlock(&mutex);
  if (waits) return;
  leat_allocator_free(leat_allocator_system(), waiter);
  if (opened) {
    let_go(c, done, id);
  } else {
    done(c, leat_make_status(LEAT_CANCELLED, "the probe's step was cancelled before"));
  }
}

static waiter_t* take_waiter(int id) {
  waiter_t* taken = NULL;
  leat_mutex_lock(&mutex);
  open_gates[id] = true;
  waiter_t** w = &waiters;
  while (*w && (*w)->id != id) w = &(*w)->next;
  if (*w) {
    taken = *w;
    *w = taken->next;
  }
  leat_mutex_unlock(&mutex);
  return taken;
}

void probe_open(int id) {
  for (waiter_t* waiter; (waiter = take_waiter(id)) != NULL;) {
    leat_cancellation_t* cancellation = waiter->context->services->cancellation;
    // A cancellation under way looks for the waiter in the list, does not find it and goes away.
    if (cancellation) leat_cancellation_deregister(cancellation, waiter->token);
    let_go(waiter->context, waiter->done, id);
    leat_allocator_free(leat_allocator_system(), waiter);
  }
}

int probe_waiting(int id) {
  int count = 0;
  leat_mutex_lock(&mutex);
  for (waiter_t* w = waiters; w; w = w->next) count += w->id == id;
  leat_mutex_unlock(&mutex);
  return count;
}

void probe_reset(void) {
  leat_mutex_lock(&mutex);
  for (int i = 0; i < kProbeIds; ++i) {
    counts[i] = orders[i] = 0;
    threads[i] = NULL;
    open_gates[i] = false;
  }
  next_order = 0;
  leat_mutex_unlock(&mutex);
}

int probe_count(int id) {
  leat_mutex_lock(&mutex);
  int count = counts[id];
  leat_mutex_unlock(&mutex);
  return count;
}

bool probe_ran_here(int id) {
  leat_mutex_lock(&mutex);
  bool ran_here = threads[id] == &here;
  leat_mutex_unlock(&mutex);
  return ran_here;
}

bool probe_ran_together(int id, int other) {
  leat_mutex_lock(&mutex);
  bool ran_together = threads[id] == threads[other];
  leat_mutex_unlock(&mutex);
  return ran_together;
}

int probe_order(int id) {
  leat_mutex_lock(&mutex);
  int order = orders[id];
  leat_mutex_unlock(&mutex);
  return order;
}

static const leat_op_row_t op_rows[] = {
    {.name = "ProbeMark", .attrs = "id: int", .flags = LEAT_OP_STATEFUL},
    {.name = "ProbePass",
     .inputs = "x: T",
     .outputs = "y: T",
     .attrs = "id: int; T: type",
     .shape = leat_shape_unchanged,
     .flags = LEAT_OP_STATEFUL},
    {.name = "ProbeFail",
     .inputs = "x: T",
     .outputs = "y: T",
     .attrs = "code: int; T: type",
     .shape = leat_shape_unchanged,
     .flags = LEAT_OP_STATEFUL},
    {.name = "ProbeWait",
     .inputs = "x: T",
     .outputs = "y: T",
     .attrs = "id: int; T: type",
     .shape = leat_shape_unchanged,
     .flags = LEAT_OP_STATEFUL},
    {.name = "ProbeWork", .inputs = "x: float", .outputs = "y: float"},
    {.name = "ProbeCall", .inputs = "x: float", .outputs = "y: float", .flags = LEAT_OP_CALLS},
    {.name = "ProbeNowhere", .inputs = "x: T", .outputs = "y: T", .attrs = "T: type"},
    {.name = 0},
};

static const leat_kernel_row_t kernel_rows[] = {
    {.op = "ProbeMark", .device_type = "CPU", .create = make_id, .state_bytes = 8, .compute = mark},
    {.op = "ProbePass", .device_type = "CPU", .create = make_id, .state_bytes = 8, .compute = pass},
    {.op = "ProbeFail",
     .device_type = "CPU",
     .create = make_code,
     .state_bytes = 8,
     .compute = fail_with},
    {.op = "ProbeWait",
     .device_type = "CPU",
     .create = make_id,
     .state_bytes = 8,
     .compute_async = wait_for_gate},
    {.op = "ProbeWork", .device_type = "CPU", .compute = work, .expensive = true},
    {.op = "ProbeCall", .device_type = "CPU", .compute = forward},
    {.op = 0},
};

leat_status_t probe_runtime(const leat_runtime_t** out_runtime) {
  LEAT_RETURN_IF_ERROR(leat_runtime_get(out_runtime));
  const leat_runtime_t* runtime = *out_runtime;
  if (leat_op_registry_has(runtime->ops, LEAT_SV("ProbeMark"))) return leat_ok_status();
  LEAT_RETURN_IF_ERROR(leat_op_registry_add(runtime->ops, op_rows));
  return leat_kernel_registry_add(runtime->kernels, kernel_rows);
}
