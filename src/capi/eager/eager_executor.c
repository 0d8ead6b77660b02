// Executors of eager/c_api_experimental.h. Eager ops run at once, on the thread that executes them,
// so that an executor has no queue and waiting for it returns at once. It keeps whether its client
// asked for asynchronous execution, and which threads use it; a thread has an executor for each
// context, at first the context's own. A client that asked for asynchronous execution expects to
// hear of an op's failure later, from the op's handles and from the executor: the executor keeps
// the first error, and refuses further ops, until TFE_ExecutorClearError.
#include "capi/eager/eager.h"

// The handles of clients and the threads that use it hold references.
struct TFE_Executor {
  leat_reference_count_t references;
  bool is_async;
  leat_mutex_t mutex;
  leat_status_t error;  // guarded by |mutex|
};

// A thread's executor in a context; in a list of the context.
struct leat_eager_thread_s {
  struct leat_eager_thread_s* next;
  uint64_t thread;
  TFE_Executor* executor;
};

// Threads are numbered when they first ask, and no number comes again.
static _Atomic uint64_t thread_count;
static LEAT_THREAD_LOCAL uint64_t thread_number;

static uint64_t number_of_thread(void) {
  if (thread_number == 0) thread_number = atomic_fetch_add(&thread_count, 1) + 1;
  return thread_number;
}

TFE_Executor* TFE_NewExecutor(bool is_async, bool enable_streaming_enqueue,
                              int in_flight_nodes_limit) {
  TFE_Executor* executor = leat_capi_allocate(sizeof *executor);
  if (!executor) return NULL;
  *executor = (TFE_Executor){.references = 1, .is_async = is_async};
  leat_mutex_initialize(&executor->mutex);
  return executor;
}

void TFE_DeleteExecutor(TFE_Executor* executor) {
  if (!executor || !leat_reference_count_release(&executor->references)) return;
  leat_status_free(executor->error);
  leat_mutex_deinitialize(&executor->mutex);
  leat_allocator_free(leat_allocator_system(), executor);
}

bool TFE_ExecutorIsAsync(TFE_Executor* executor) { return executor->is_async; }

leat_status_t leat_eager_executor_error(TFE_Executor* executor) {
  leat_mutex_lock(&executor->mutex);
  leat_status_t error = leat_status_clone(executor->error);
  leat_mutex_unlock(&executor->mutex);
  return error;
}

void leat_eager_executor_fail(TFE_Executor* executor, leat_status_t status) {
  leat_mutex_lock(&executor->mutex);
  executor->error = leat_status_join(executor->error, status);
  leat_mutex_unlock(&executor->mutex);
}

void TFE_ExecutorWaitForAllPendingNodes(TFE_Executor* executor, TF_Status* status) {
  leat_capi_status_set(status, leat_eager_executor_error(executor));
}

void TFE_ExecutorClearError(TFE_Executor* executor) {
  leat_mutex_lock(&executor->mutex);
  leat_status_t error = executor->error;
  executor->error = leat_ok_status();
  leat_mutex_unlock(&executor->mutex);
  leat_status_free(error);
}

// ---- Of threads ---------------------------------------------------------------------------------

// The entry of this thread; NULL: it has none yet. The caller holds the context's mutex.
static struct leat_eager_thread_s* find_thread(const TFE_Context* context) {
  struct leat_eager_thread_s* entry = context->threads;
  while (entry && entry->thread != number_of_thread()) entry = entry->next;
  return entry;
}

// Without memory the thread keeps the executor that it has.
void TFE_ContextSetExecutorForThread(TFE_Context* ctx, TFE_Executor* executor) {
  if (executor->is_async) atomic_store(&ctx->has_async, true);
  leat_mutex_lock(&ctx->mutex);
  struct leat_eager_thread_s* entry = find_thread(ctx);
  if (!entry && (entry = leat_capi_allocate(sizeof *entry))) {
    entry->thread = number_of_thread();
    entry->next = ctx->threads;
    ctx->threads = entry;
  }
  TFE_Executor* former = entry ? entry->executor : NULL;
  if (entry) {
    leat_reference_count_retain(&executor->references);
    entry->executor = executor;
  }
  leat_mutex_unlock(&ctx->mutex);
  TFE_DeleteExecutor(former);
}

TFE_Executor* TFE_ContextGetExecutorForThread(TFE_Context* ctx) {
  leat_mutex_lock(&ctx->mutex);
  const struct leat_eager_thread_s* entry = find_thread(ctx);
  if (!entry && !ctx->executor) ctx->executor = TFE_NewExecutor(ctx->is_async, true, 0);
  TFE_Executor* executor = entry ? entry->executor : ctx->executor;
  if (executor) leat_reference_count_retain(&executor->references);
  leat_mutex_unlock(&ctx->mutex);
  return executor;
}

// The first error of the executors that threads of the context have now.
void TFE_ContextAsyncWait(TFE_Context* ctx, TF_Status* status) {
  leat_status_t error = leat_ok_status();
  leat_mutex_lock(&ctx->mutex);
  if (ctx->executor) error = leat_eager_executor_error(ctx->executor);
  for (const struct leat_eager_thread_s* t = ctx->threads; t && !error; t = t->next) {
    error = leat_eager_executor_error(t->executor);
  }
  leat_mutex_unlock(&ctx->mutex);
  leat_capi_status_set(status, error);
}

void leat_eager_threads_free(TFE_Context* context) {
  TFE_DeleteExecutor(context->executor);
  while (context->threads) {
    struct leat_eager_thread_s* entry = context->threads;
    context->threads = entry->next;
    TFE_DeleteExecutor(entry->executor);
    leat_allocator_free(leat_allocator_system(), entry);
  }
}
