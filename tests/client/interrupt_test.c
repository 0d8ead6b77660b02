// leat/interrupt.h: steps that end when another thread says so. The step is one that waits for
// ever: it takes an element out of a queue into which nobody puts any. Without the interrupt most
// of these tests would run until CTest ends them.
#include <pthread.h>

#include "client/model_kit.h"
#include "leat/callable.h"
#include "leat/interrupt.h"

static TF_Output taken;    // an element of the queue
static TF_Operation* put;  // puts 7 into it
static leat_interrupt_t* interrupt;

static int set_up(void** state) {
  const TF_DataType type = TF_INT32;
  int code = model_kit_set_up(state);
  leat_attribute_t types = leat_attribute_types("component_types", 1, &type);
  leat_attribute_t elements = leat_attribute_types("Tcomponents", 1, &type);
  TF_Output queue = {leat_operation(kit.scope, "FIFOQueueV2", NULL, NULL, 0, &types, 1), 0};
  taken = (TF_Output){leat_operation(kit.scope, "QueueDequeueV2", NULL, &queue, 1, &types, 1), 0};
  TF_Output put_in[] = {queue, leat_constant_int(kit.scope, 7)};
  put = leat_operation(kit.scope, "QueueEnqueueV2", NULL, put_in, 2, &elements, 1);
  model_kit_run(leat_group(kit.scope, NULL, NULL, 0));  // opens the session
  interrupt = leat_interrupt_create();
  assert_non_null(interrupt);
  return code;
}

static int tear_down(void** state) {
  leat_interrupt_free(interrupt);
  return model_kit_tear_down(state);
}

static void* cancel(void* unused) {
  leat_interrupt_cancel(interrupt);
  return unused;
}

static pthread_t start(void* (*function)(void*)) {
  pthread_t thread;
  assert_int_equal(pthread_create(&thread, NULL, function, NULL), 0);
  return thread;
}

// A step that takes an element and ends with |code|.
static void take(TF_Code code) {
  TF_Tensor* element = NULL;
  TF_SessionRun(kit.session, NULL, NULL, NULL, 0, &taken, &element, 1, NULL, 0, NULL, kit.status);
  kit_expect(kit.status, code);
  TF_DeleteTensor(element);
}

// The session is usable, by a thread with or without an interrupt.
static void put_and_take(void) {
  model_kit_run(put);
  take(TF_OK);
}

static void test_session(void** state) {
  for (int i = 0; i < 3; ++i) {
    leat_interrupt_begin(interrupt);
    pthread_t canceller = start(cancel);
    take(TF_CANCELLED);
    leat_interrupt_end(interrupt);
    pthread_join(canceller, NULL);
    leat_interrupt_begin(interrupt);
    put_and_take();
    leat_interrupt_end(interrupt);
    put_and_take();
  }
}

static void test_callable(void** state) {
  TF_Tensor* element = NULL;
  leat_callable_t* f =
      leat_callable_create(kit.session, NULL, 0, &taken, 1, NULL, 0, kit.status);
  kit_ok(kit.status);
  leat_interrupt_begin(interrupt);
  pthread_t canceller = start(cancel);
  leat_callable_run_tensors(f, NULL, &element, kit.status);
  kit_expect(kit.status, TF_CANCELLED);
  leat_interrupt_end(interrupt);
  pthread_join(canceller, NULL);
  model_kit_run(put);
  leat_callable_run_tensors(f, NULL, &element, kit.status);
  kit_ok(kit.status);
  TF_DeleteTensor(element);
  leat_callable_free(f);
}

// A partial run ends with the call that waits; another one begins anew.
static void test_partial_run(void** state) {
  for (int i = 0; i < 3; ++i) {
    const char* handle;
    TF_Tensor* element = NULL;
    TF_SessionPRunSetup(kit.session, NULL, 0, &taken, 1, NULL, 0, &handle, kit.status);
    kit_expect(kit.status, TF_OK);
    leat_interrupt_begin(interrupt);
    pthread_t canceller = start(cancel);
    TF_SessionPRun(kit.session, handle, NULL, NULL, 0, &taken, &element, 1, NULL, 0, kit.status);
    leat_interrupt_end(interrupt);
    kit_expect(kit.status, TF_CANCELLED);
    assert_null(element);
    pthread_join(canceller, NULL);
    TF_DeletePRunHandle(handle);
    put_and_take();
  }
}

// What is cancelled stays so until the outermost end; before it and after it nothing is.
static void test_nested(void** state) {
  leat_interrupt_cancel(interrupt);
  leat_interrupt_begin(interrupt);
  put_and_take();
  leat_interrupt_begin(interrupt);
  put_and_take();
  leat_interrupt_cancel(interrupt);
  take(TF_CANCELLED);
  leat_interrupt_end(interrupt);
  take(TF_CANCELLED);
  leat_interrupt_end(interrupt);
  leat_interrupt_cancel(interrupt);
  put_and_take();
}

static void* take_elsewhere(void* unused) {
  TF_Status* status = TF_NewStatus();
  TF_Tensor* element = NULL;
  TF_SessionRun(kit.session, NULL, NULL, NULL, 0, &taken, &element, 1, NULL, 0, NULL, status);
  kit_ok(status);
  TF_DeleteTensor(element);
  TF_DeleteStatus(status);
  return unused;
}

static void test_steps_of_other_threads(void** state) {
  leat_interrupt_begin(interrupt);
  pthread_t taker = start(take_elsewhere);
  leat_interrupt_cancel(interrupt);
  take(TF_CANCELLED);
  leat_interrupt_end(interrupt);
  model_kit_run(put);
  pthread_join(taker, NULL);
}

static void test_none(void** state) {
  leat_interrupt_begin(NULL);
  leat_interrupt_cancel(NULL);
  put_and_take();
  leat_interrupt_end(NULL);
  leat_interrupt_free(NULL);
}

int main(void) {
  const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
      TEST(test_session),
      TEST(test_callable),
      TEST(test_partial_run),
      TEST(test_nested),
      TEST(test_steps_of_other_threads),
      TEST(test_none),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
