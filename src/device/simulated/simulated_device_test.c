// The simulated device behaves like an accelerator on a machine that has none, and these tests show
// the differences from a CPU that it must simulate. Its memory cannot be touched by the host: a
// child process tries and must end with a fault. Its memory has a limit and is reused while work
// that was enqueued earlier still runs. Its streams finish out of order, wait for events, and take
// real or virtual time. A kernel that reads a value without waiting for the event of its writer is
// an error in the runtime above, and the device must report it; so must it report to all later
// readers that a copy failed. What every device must do is tested in
// tests/device/device_suite_test.c.
#include "device/simulated/simulated_device.h"

#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/test.h"

#define NAME "/job:localhost/replica:0/task:0/device:SIM:0"

static leat_device_t* open_device(int64_t memory_bytes, bool virtual_time) {
  leat_simulated_options_t options = leat_simulated_options_default();
  options.memory_bytes = memory_bytes;
  options.virtual_time = virtual_time;
  leat_device_t* device;
  LEAT_EXPECT_OK(leat_simulated_device_create(LEAT_SV(NAME), &options, NULL,
                                              leat_allocator_system(), &device));
  return device;
}

// ---- Memory -------------------------------------------------------------------------------------

// Does a process that reads or writes |address| end with a fault?
static bool faults(volatile char* address, bool write) {
  pid_t child = fork();
  assert_true(child >= 0);
  if (child == 0) {
    signal(SIGSEGV, SIG_DFL);  // cmocka catches it
    close(2);                  // what a sanitizer says of it
    if (write) {
      *address = 1;
    } else {
      (void)*address;
    }
    _exit(0);
  }
  int status = 0;
  waitpid(child, &status, 0);
  return !(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

static void the_host_cannot_touch_it(void** state) {
  leat_device_t* device = open_device(1 << 20, true);
  leat_tensor_t tensor;
  leat_shape_t shape = leat_shape_vector(10);
  LEAT_EXPECT_OK(leat_tensor_allocate(device->memory, LEAT_DTYPE_FLOAT, &shape, &tensor));
  assert_false(device->shares_host_memory);
  assert_true(faults(tensor.data, false));
  assert_true(faults(tensor.data, true));
  leat_tensor_t seen = tensor;
  leat_simulated_memory_enter(leat_simulated_device_memory(device), &seen);
  assert_false(faults(seen.data, true));
  leat_simulated_memory_leave(leat_simulated_device_memory(device), &seen);
  assert_ptr_equal(seen.data, tensor.data);
  float host = 0;
  leat_tensor_t elsewhere = {.data = &host};
  leat_simulated_memory_enter(leat_simulated_device_memory(device), &elsewhere);
  assert_ptr_equal(elsewhere.data, &host);
  leat_tensor_release(&tensor);
  leat_device_release(device);
}

static void beyond_the_limit(void** state) {
  leat_device_t* device = open_device(64 << 10, true);
  leat_simulated_memory_t* memory = leat_simulated_device_memory(device);
  leat_buffer_t *first, *second, *third;
  LEAT_EXPECT_OK(leat_buffer_allocate(device->memory, 40 << 10, &first));
  LEAT_EXPECT_CODE(LEAT_RESOURCE_EXHAUSTED,
                   leat_buffer_allocate(device->memory, 40 << 10, &second));
  LEAT_EXPECT_CODE(LEAT_RESOURCE_EXHAUSTED,
                   leat_buffer_allocate(device->memory, SIZE_MAX - 5, &second));
  LEAT_EXPECT_OK(leat_buffer_allocate(device->memory, 24 << 10, &second));
  assert_int_equal(leat_simulated_memory_used(memory), 64 << 10);
  LEAT_EXPECT_CODE(LEAT_RESOURCE_EXHAUSTED, leat_buffer_allocate(device->memory, 1, &third));
  leat_buffer_release(first);
  leat_buffer_release(second);
  LEAT_EXPECT_OK(leat_buffer_allocate(device->memory, 64 << 10, &third));  // in one piece again
  leat_buffer_release(third);
  assert_int_equal(leat_simulated_memory_used(memory), 0);
  leat_device_release(device);
}

// Freed in any order, pieces grow together; what is freed shows a pattern; memory outlives its
// device.
static void many_pieces(void** state) {
  enum { COUNT = 100 };
  leat_device_t* device = open_device(1 << 20, true);
  leat_buffer_source_t* inner = leat_simulated_memory_inner(leat_simulated_device_memory(device));
  leat_buffer_t *buffers[COUNT], *whole;
  for (int i = 0; i < COUNT; ++i) {
    LEAT_EXPECT_OK(leat_buffer_allocate(inner, 1000 + 10 * (size_t)i, &buffers[i]));
    memset(buffers[i]->data, i, buffers[i]->size_bytes);
  }
  for (int i = 0; i < COUNT; ++i) {
    const unsigned char* bytes = buffers[i * 37 % COUNT]->data;
    assert_int_equal(bytes[900], i * 37 % COUNT);
    leat_buffer_release(buffers[i * 37 % COUNT]);
    assert_int_equal(bytes[900], 0xCB);
  }
  LEAT_EXPECT_OK(leat_buffer_allocate(inner, 1 << 20, &whole));
  leat_device_release(device);
  memset(whole->data, 1, whole->size_bytes);
  leat_buffer_release(whole);
}

// ---- Streams ------------------------------------------------------------------------------------

typedef struct record_s {
  leat_mutex_t mutex;
  leat_condition_t condition;
  int order[8];
  int count;
} record_t;

typedef struct piece_s {
  record_t* record;
  int id;
} piece_t;

static void piece_done(void* data, leat_status_t status) {
  piece_t* piece = data;
  LEAT_EXPECT_OK(status);
  leat_mutex_lock(&piece->record->mutex);
  piece->record->order[piece->record->count++] = piece->id;
  leat_condition_notify_all(&piece->record->condition);
  leat_mutex_unlock(&piece->record->mutex);
}

static void open_record(record_t* record) {
  *record = (record_t){.count = 0};
  leat_mutex_initialize(&record->mutex);
  leat_condition_initialize(&record->condition);
}

static void await(record_t* record, int count) {
  leat_mutex_lock(&record->mutex);
  while (record->count < count) leat_condition_wait(&record->condition, &record->mutex);
  leat_mutex_unlock(&record->mutex);
}

static void close_record(record_t* record) {
  leat_mutex_deinitialize(&record->mutex);
  leat_condition_deinitialize(&record->condition);
}

static const int64_t kMillisecond = 1000000;

static void enqueue(leat_device_t* device, int stream, leat_simulated_events_t after,
                    leat_simulated_work_fn_t work, void* data, int64_t duration_ns,
                    piece_t* piece) {
  leat_simulated_task_t task = {.stream = stream,
                                .after = after,
                                .duration_ns = duration_ns,
                                .work = work,
                                .work_data = data,
                                .done = piece ? piece_done : NULL,
                                .done_data = piece};
  LEAT_EXPECT_OK(leat_simulated_device_enqueue(device, &task, NULL));
}

static const leat_simulated_events_t at_once;

static leat_status_t wait_for_gate(void* data, int64_t start_ns) {
  leat_notification_wait(data, INT64_MAX);
  return leat_ok_status();
}

static void streams_end_out_of_order(void** state) {
  leat_device_t* device = open_device(1 << 20, false);
  record_t record;
  open_record(&record);
  leat_notification_t gate;
  leat_notification_initialize(&gate);
  piece_t pieces[] = {{&record, 0}, {&record, 1}, {&record, 2}};
  int64_t start = leat_clock_now_ns();
  enqueue(device, 0, at_once, wait_for_gate, &gate, 20 * kMillisecond, &pieces[0]);
  enqueue(device, 1, at_once, NULL, NULL, kMillisecond, &pieces[1]);
  enqueue(device, 0, at_once, NULL, NULL, kMillisecond, &pieces[2]);
  await(&record, 1);
  assert_int_equal(record.order[0], 1);
  leat_notification_open(&gate);
  await(&record, 3);
  assert_true(leat_clock_now_ns() - start >= 21 * kMillisecond);
  assert_int_equal(record.order[1], 0);
  assert_int_equal(record.order[2], 2);
  leat_notification_deinitialize(&gate);
  close_record(&record);
  leat_device_release(device);
}

static void an_event_holds_back(void** state) {
  leat_device_t* device = open_device(1 << 20, false);
  record_t record;
  open_record(&record);
  piece_t pieces[] = {{&record, 0}, {&record, 1}};
  enqueue(device, 0, at_once, NULL, NULL, 20 * kMillisecond, &pieces[0]);
  leat_simulated_events_t after = at_once;
  leat_simulated_device_record(device, 1, &after);
  enqueue(device, 1, after, NULL, NULL, 0, &pieces[1]);
  await(&record, 2);
  // On one thread each, the two completions may overtake each other only before the event.
  assert_int_equal(leat_simulated_device_progress(device, 0).busy_ns, 20 * kMillisecond);
  assert_int_equal(record.order[0] + record.order[1], 1);
  close_record(&record);
  leat_device_release(device);
}

static void virtual_time_does_not_wait(void** state) {
  leat_device_t* device = open_device(1 << 20, true);
  record_t record;
  open_record(&record);
  piece_t piece = {&record, 0};
  int64_t start = leat_clock_now_ns();
  enqueue(device, 0, at_once, NULL, NULL, INT64_C(3600) * 1000000000, &piece);
  await(&record, 1);
  assert_true(leat_clock_now_ns() - start < INT64_C(60) * 1000000000);
  assert_int_equal(leat_simulated_device_progress(device, 0).busy_ns, INT64_C(3600) * 1000000000);
  close_record(&record);
  leat_device_release(device);
}

// ---- Work over memory ---------------------------------------------------------------------------

// Writes |value| to a float of the device, or reads it.
typedef struct touch_s {
  leat_notification_t* gate;
  float* address;
  float value;
} touch_t;

// The work of a task: it waits until the test opens the gate, and only then stores the value.
static leat_status_t write_behind_gate(void* data, int64_t start_ns) {
  touch_t* touch = data;
  if (touch->gate) leat_notification_wait(touch->gate, INT64_MAX);
  *touch->address = touch->value;
  return leat_ok_status();
}

static leat_status_t read_it(void* data, int64_t start_ns) {
  touch_t* touch = data;
  touch->value = *touch->address;
  return leat_ok_status();
}

// A scalar in the device's memory. The work of the tasks runs on the host, so |touch| is told the
// address at which the device itself sees the value.
static leat_tensor_t scalar_of(leat_device_t* device, touch_t* touch) {
  leat_tensor_t tensor, seen;
  leat_shape_t shape = leat_shape_scalar();
  LEAT_EXPECT_OK(leat_tensor_allocate(device->memory, LEAT_DTYPE_FLOAT, &shape, &tensor));
  seen = tensor;
  leat_simulated_memory_enter(leat_simulated_device_memory(device), &seen);
  touch->address = seen.data;
  return tensor;
}

static leat_simulated_writer_t* enqueue_write(leat_device_t* device, int stream,
                                              leat_simulated_events_t after,
                                              const leat_tensor_t* tensor, touch_t* touch) {
  leat_simulated_task_t task = {
      .stream = stream, .after = after, .work = write_behind_gate, .work_data = touch};
  leat_simulated_writer_t* writer;
  LEAT_EXPECT_OK(leat_simulated_writer_create(stream, &writer));
  LEAT_EXPECT_OK(leat_simulated_device_enqueue(device, &task, &writer->number));
  leat_simulated_memory_note_write(leat_simulated_device_memory(device), tensor, writer);
  return writer;
}

// Who reads without the value's event sees that it is not there yet.
static void a_missing_event_is_seen(void** state) {
  leat_device_t* device = open_device(1 << 20, true);
  leat_simulated_memory_t* memory = leat_simulated_device_memory(device);
  leat_notification_t gate;
  leat_notification_initialize(&gate);
  record_t record;
  open_record(&record);
  piece_t pieces[] = {{&record, 0}, {&record, 1}};
  touch_t made = {.gate = &gate, .value = 42}, early = {0}, late = {0};
  leat_tensor_t tensor = scalar_of(device, &made);
  leat_simulated_writer_t* writer = enqueue_write(device, 0, at_once, &tensor, &made);
  early.address = late.address = made.address;
  enqueue(device, 1, at_once, read_it, &early, 0, &pieces[0]);
  await(&record, 1);
  unsigned char pattern[sizeof(float)];
  memset(pattern, 0xCB, sizeof pattern);
  assert_memory_equal(&early.value, pattern, sizeof pattern);

  leat_simulated_events_t after = at_once;
  leat_simulated_writer_t* found = leat_simulated_memory_await_value(memory, &tensor, &after);
  assert_ptr_equal(found, writer);
  assert_int_equal(after.numbers[0], 1);
  enqueue(device, 1, after, read_it, &late, 0, &pieces[1]);
  leat_notification_open(&gate);
  await(&record, 2);
  assert_true(late.value == 42);
  leat_simulated_writer_release(found);
  leat_simulated_writer_release(writer);
  leat_tensor_release(&tensor);
  close_record(&record);
  leat_notification_deinitialize(&gate);
  leat_device_release(device);
}

static void keep_status(void* data, leat_status_t status) {
  record_t* record = data;
  leat_mutex_lock(&record->mutex);
  record->order[record->count++] = (int)leat_status_code(status);
  leat_condition_notify_all(&record->condition);
  leat_mutex_unlock(&record->mutex);
  leat_status_free(status);
}

// Bytes whose maker failed are copied on, into another tensor and from there to the host. Whoever
// reads the copy hears of the failure, and whoever fills the copy again hears no more of it.
static void readers_hear_of_a_failed_copy(void** state) {
  leat_device_t* device = open_device(1 << 20, true);
  record_t record;
  open_record(&record);
  touch_t touch = {.value = 1};
  leat_tensor_t made = scalar_of(device, &touch), copy = {0}, host = {0};
  leat_simulated_task_t task = {.stream = 0, .work = write_behind_gate, .work_data = &touch};
  leat_simulated_writer_t* writer;
  LEAT_EXPECT_OK(leat_simulated_writer_create(0, &writer));
  writer->status = leat_make_status(LEAT_DATA_LOSS, "its maker failed");
  LEAT_EXPECT_OK(leat_simulated_device_enqueue(device, &task, &writer->number));
  leat_simulated_memory_note_write(leat_simulated_device_memory(device), &made, writer);
  leat_simulated_writer_release(writer);
  LEAT_EXPECT_OK(device->vtable->copy_from_host(device, &made, &copy));
  LEAT_EXPECT_OK(device->vtable->copy_to_host(device, &copy, &host, keep_status, &record));
  await(&record, 1);
  assert_int_equal(record.order[0], LEAT_DATA_LOSS);

  float seven = 7;
  leat_tensor_t good;
  LEAT_EXPECT_OK(leat_tensor_scalar(LEAT_DTYPE_FLOAT, &seven, &good));
  LEAT_EXPECT_OK(device->vtable->copy_from_host(device, &good, &copy));
  LEAT_EXPECT_OK(device->vtable->copy_to_host(device, &copy, &host, keep_status, &record));
  await(&record, 2);
  assert_int_equal(record.order[1], LEAT_OK);
  assert_true(leat_tensor_data(&host, const float)[0] == 7);
  leat_tensor_release(&good);
  leat_tensor_release(&host);
  leat_tensor_release(&copy);
  leat_tensor_release(&made);
  close_record(&record);
  leat_device_release(device);
}

// A buffer is freed while its work is still enqueued: its memory has a new owner at once, whose
// writer waits for that work.
static void freeing_is_ordered_by_the_streams(void** state) {
  leat_device_t* device = open_device(4096, true);
  leat_simulated_memory_t* memory = leat_simulated_device_memory(device);
  leat_notification_t gate;
  leat_notification_initialize(&gate);
  touch_t former = {.gate = &gate, .value = 1}, next = {.value = 2};
  leat_tensor_t first = scalar_of(device, &former);
  leat_simulated_writer_release(enqueue_write(device, 0, at_once, &first, &former));
  leat_tensor_release(&first);
  assert_int_equal(leat_simulated_memory_used(memory), 0);

  leat_buffer_t* unused;
  LEAT_EXPECT_CODE(LEAT_RESOURCE_EXHAUSTED,  // work that runs cannot wait
                   leat_buffer_allocate(leat_simulated_memory_inner(memory), 4096, &unused));
  leat_tensor_t second = scalar_of(device, &next);
  assert_ptr_equal(next.address, former.address);
  leat_simulated_events_t after = at_once;
  leat_simulated_memory_await_uses(memory, &second, &after);
  assert_int_equal(after.numbers[0], 1);
  leat_simulated_writer_release(enqueue_write(device, 1, after, &second, &next));
  assert_int_equal(leat_simulated_device_progress(device, 1).ended, 0);
  leat_notification_open(&gate);
  record_t record;
  open_record(&record);
  piece_t piece = {&record, 0};
  device->vtable->synchronize(device, piece_done, &piece);
  await(&record, 1);
  assert_true(*next.address == 2);
  leat_tensor_release(&second);
  close_record(&record);
  leat_notification_deinitialize(&gate);
  leat_device_release(device);
}

// What is in a variable is held by the work that reads it, anything else is not.
static void a_lasting_buffer_is_held(void** state) {
  leat_device_t* device = open_device(1 << 20, true);
  leat_simulated_memory_t* memory = leat_simulated_device_memory(device);
  touch_t touch;
  leat_tensor_t tensor = scalar_of(device, &touch);
  leat_tensor_t held = leat_simulated_memory_hold(memory, &tensor);
  assert_null(held.buffer);
  assert_true(leat_buffer_is_exclusive(tensor.buffer));
  leat_tensor_release(&held);
  leat_simulated_memory_make_lasting(memory, &tensor, false);
  held = leat_simulated_memory_hold(memory, &tensor);
  assert_false(leat_buffer_is_exclusive(tensor.buffer));
  leat_tensor_release(&held);
  leat_tensor_release(&tensor);
  leat_device_release(device);
}

// ---- Life ---------------------------------------------------------------------------------------

// A device that goes finishes its work first.
static void nothing_is_lost_at_the_end(void** state) {
  leat_device_t* device = open_device(1 << 20, false);
  record_t record;
  open_record(&record);
  piece_t pieces[] = {{&record, 0}, {&record, 1}, {&record, 2}, {&record, 3}};
  for (int i = 0; i < 4; ++i) {
    enqueue(device, i % 2, at_once, NULL, NULL, 5 * kMillisecond, &pieces[i]);
  }
  leat_device_release(device);
  assert_int_equal(record.count, 4);
  close_record(&record);
}

static void only_its_own_name(void** state) {
  leat_simulated_options_t options = leat_simulated_options_default();
  leat_device_t* device;
  LEAT_EXPECT_CODE(LEAT_INVALID_ARGUMENT,
                   leat_simulated_device_create(LEAT_SV("SIM:0"), &options, NULL,
                                                leat_allocator_system(), &device));
  LEAT_EXPECT_CODE(LEAT_INVALID_ARGUMENT,
                   leat_simulated_device_create(
                       LEAT_SV("/job:localhost/replica:0/task:0/device:CPU:0"), &options, NULL,
                       leat_allocator_system(), &device));
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(the_host_cannot_touch_it),
      cmocka_unit_test(beyond_the_limit),
      cmocka_unit_test(many_pieces),
      cmocka_unit_test(streams_end_out_of_order),
      cmocka_unit_test(an_event_holds_back),
      cmocka_unit_test(virtual_time_does_not_wait),
      cmocka_unit_test(a_missing_event_is_seen),
      cmocka_unit_test(readers_hear_of_a_failed_copy),
      cmocka_unit_test(freeing_is_ordered_by_the_streams),
      cmocka_unit_test(a_lasting_buffer_is_held),
      cmocka_unit_test(nothing_is_lost_at_the_end),
      cmocka_unit_test(only_its_own_name),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
