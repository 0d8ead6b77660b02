// A launch is the work of one kernel on a stream of the simulated device. It holds all that the
// work needs, since the executor goes on without it: the inputs at the addresses that the stream
// sees, the places of the outputs, and a copy of the step's services. What the services point to
// lives until the step has synchronized the device.
//
// Three questions, and why the answers are safe:
//   - Why may readers be enqueued before the value is there? The buffer remembers which work, by
//     stream and number, writes it, and its readers wait for that work.
//   - Why may a buffer be freed while work still uses it? The uses are remembered with its memory,
//     and the first work that writes to the memory for its next owner waits for them.
//   - Why may a variable be updated in place? Its buffer is lasting, so that the reference count
//     shows work which still reads it.
//
// A launch is made in one of three ways: enqueued (the usual one), run to the end for kernels that
// are asynchronous, and waited for by the host when shapes are unknown.
#include "ops/simulated/launch_kernel.h"

#include <string.h>

#include "base/clock.h"
#include "device/simulated/simulated_device.h"

typedef struct launch_s {
  const leat_kernel_t* kernel;
  leat_kernel_context_t inner;  // the twin's context
  leat_step_services_t services;
  leat_slot_t* slots;  // the inputs and then the outputs, at the stream's addresses
  uint32_t* numbers;
  leat_simulated_writer_t** makers;  // the work that makes each input; NULL where it has ended
  // Only of an enqueued launch.
  leat_simulated_writer_t* writer;  // of the outputs
  leat_actual_input_t* facts;
  leat_shape_t* shapes;
  leat_buffer_t* places;  // of the outputs' memory, for the twin to write to
  leat_buffer_t** planned;
  // Only of a launch that runs to the end.
  leat_kernel_context_t* context;
  leat_kernel_done_fn_t done;
  // Only of a launch that the host waits for.
  leat_notification_t ended;
  leat_status_t status;
} launch_t;

static leat_simulated_memory_t* memory_of(const leat_kernel_t* kernel) {
  return leat_simulated_device_memory(kernel->device);
}

// ---- Making a launch ----------------------------------------------------------------------------

// The launch's arrays lie behind it in the same block, those of the largest alignment first.
static size_t size_of_launch(int inputs, int outputs) {
  const launch_t* l = NULL;
  size_t by_input = sizeof *l->slots + sizeof *l->makers + sizeof *l->facts + sizeof *l->numbers;
  size_t by_output =
      sizeof *l->slots + sizeof *l->shapes + sizeof *l->places + sizeof *l->planned;
  return sizeof *l + (size_t)inputs * by_input + (size_t)outputs * by_output;
}

static void lay_out(launch_t* l, int inputs, int outputs) {
  l->slots = (void*)(l + 1);
  l->makers = (void*)(l->slots + inputs + outputs);
  l->facts = (void*)(l->makers + inputs);
  l->shapes = (void*)(l->facts + inputs);
  l->places = (void*)(l->shapes + outputs);
  l->planned = (void*)(l->places + outputs);
  l->numbers = (void*)(l->planned + outputs);
}

// Returns the first input that has the same slot as |input|. Inputs that share a slot must share
// one in the launch too, because kernels use that to see that a value is read twice.
static uint32_t first_of_slot(const leat_kernel_context_t* c, int input) {
  uint32_t first = 0;
  while (c->input_slots[first] != c->input_slots[input]) ++first;
  return first;
}

static leat_status_t make_launch(const leat_kernel_context_t* c, leat_simulated_events_t* after,
                                 launch_t** out_launch) {
  const leat_kernel_t* kernel = c->kernel;
  launch_t* l;
  LEAT_RETURN_IF_ERROR(leat_allocator_allocate(
      leat_allocator_system(), size_of_launch(kernel->input_count, kernel->output_count),
      (void**)&l));
  lay_out(l, kernel->input_count, kernel->output_count);
  l->kernel = kernel;
  l->services = *c->services;
  l->services.pool = NULL;  // only the stream's thread may touch the memory
  l->inner = *c;
  l->inner.kernel = ((const leat_twin_t*)kernel->state)->kernel;
  l->inner.slots = l->slots;
  l->inner.input_slots = l->numbers;
  l->inner.outputs = l->slots + kernel->input_count;
  l->inner.services = &l->services;
  for (int i = 0; i < kernel->input_count; ++i) {
    l->numbers[i] = first_of_slot(c, i);
    l->makers[i] =
        leat_simulated_memory_await_value(memory_of(kernel), leat_kernel_input(c, i), after);
  }
  *out_launch = l;
  return leat_ok_status();
}

static void free_launch(launch_t* l) {
  for (int i = 0; i < l->kernel->input_count; ++i) leat_simulated_writer_release(l->makers[i]);
  leat_simulated_writer_release(l->writer);
  leat_allocator_free(leat_allocator_system(), l);
}

static int64_t duration_of(const leat_kernel_context_t* c) {
  size_t bytes = 0;
  for (int i = 0; i < c->kernel->input_count; ++i) {
    bytes += leat_tensor_size_bytes(leat_kernel_input(c, i));
  }
  return leat_simulated_device_time_ns(c->kernel->device, bytes);
}

// Runs the twin, unless making one of its inputs failed: then it fails in the same way.
static leat_status_t run_twin(launch_t* l) {
  for (int i = 0; i < l->kernel->input_count; ++i) {
    if (l->makers[i] && l->makers[i]->status) return leat_status_clone(l->makers[i]->status);
  }
  return l->inner.kernel->row->compute(&l->inner);
}

// ---- Enqueued -----------------------------------------------------------------------------------

static void free_enqueued(launch_t* l) {
  int slots = l->kernel->input_count + l->kernel->output_count;
  for (int i = 0; i < slots; ++i) leat_slot_release(&l->slots[i]);
  for (int i = 0; i < l->kernel->output_count; ++i) leat_shape_release(&l->shapes[i]);
  free_launch(l);
}

static void forget_place(leat_buffer_t* place) {}
static const leat_buffer_vtable_t kPlace = {forget_place};

// Takes a reference to each input for the time of the launch. Shapes are known to the host at once;
// values only where they lie in host memory.
static void hold_inputs(const leat_kernel_context_t* c, launch_t* l) {
  for (int i = 0; i < c->kernel->input_count; ++i) {
    const leat_tensor_t* input = leat_kernel_input(c, i);
    leat_slot_t* slot = &l->slots[i];
    *slot = (leat_slot_t){.tensor = leat_simulated_memory_hold(memory_of(c->kernel), input),
                          .alive = true};
    leat_simulated_memory_enter(memory_of(c->kernel), &slot->tensor);
    bool is_with_host = slot->tensor.data == input->data;
    l->facts[i] = (leat_actual_input_t){&slot->tensor.shape, is_with_host ? &slot->tensor : NULL};
  }
}

// Allocates the outputs. The executor gets them by the device's addresses, and the twin writes to
// the same memory by the addresses that the stream sees.
static leat_status_t give_outputs(leat_kernel_context_t* c, launch_t* l) {
  for (int i = 0; i < c->kernel->output_count; ++i) {
    leat_tensor_t tensor;
    LEAT_RETURN_IF_ERROR(leat_tensor_allocate(c->kernel->device->memory,
                                              leat_dtype_base(c->kernel->output_types[i]),
                                              &l->shapes[i], &tensor));
    leat_kernel_set_output(c, i, tensor);
    if (!tensor.buffer) continue;
    leat_simulated_memory_enter(memory_of(c->kernel), &tensor);
    l->places[i] = (leat_buffer_t){
        .vtable = &kPlace, .data = tensor.data, .size_bytes = tensor.buffer->size_bytes};
    l->planned[i] = &l->places[i];
  }
  l->inner.planned_outputs = l->planned;
  l->inner.last_readers = 0;  // no output may take the memory of an input: it has its place
  l->services.memory = leat_buffer_source_host();  // the twin's temporaries lie in host memory
  return leat_ok_status();
}

// Copies an output to its place when the twin has made it elsewhere, as a kernel does that passes
// an input on.
static leat_status_t settle(launch_t* l, int index) {
  const leat_tensor_t* made = &l->inner.outputs[index].tensor;
  void* place = l->places[index].data;
  if (!leat_shape_equal(&made->shape, &l->shapes[index])) {
    return leat_make_status(LEAT_INTERNAL, "output %d has shape %s, must have the shape that was "
                            "inferred, %s", index, LEAT_SHAPE_TEXT(&made->shape),
                            LEAT_SHAPE_TEXT(&l->shapes[index]));
  }
  if (place && made->data != place) memcpy(place, made->data, leat_tensor_size_bytes(made));
  return leat_ok_status();
}

static leat_status_t run_enqueued(void* data, int64_t start_ns) {
  launch_t* l = data;
  leat_step_listener_t* listener = l->services.listener;
  leat_status_t status = run_twin(l);
  for (int i = 0; i < l->kernel->output_count && !status; ++i) status = settle(l, i);
  status = leat_kernel_annotate(l->kernel, status);
  l->writer->status = leat_status_clone(status);
  listener->ended(listener, l->kernel, l->inner.outputs, leat_clock_now_ns() - start_ns, status);
  free_enqueued(l);
  return leat_ok_status();
}

// Tells the buffers which work reads and writes them. |writer| may have ended meanwhile.
static void note(const leat_kernel_context_t* c, leat_simulated_writer_t* writer) {
  leat_simulated_memory_t* memory = memory_of(c->kernel);
  for (int i = 0; i < c->kernel->input_count; ++i) {
    leat_simulated_memory_note_read(memory, leat_kernel_input(c, i), writer->stream,
                                    writer->number);
  }
  for (int i = 0; i < c->kernel->output_count; ++i) {
    leat_simulated_memory_note_write(memory, &c->outputs[i].tensor, writer);
  }
}

// Stateful nodes, such as random generators, all run on stream 0, so that they use their state in
// the order in which they were enqueued.
static int stream_for(const leat_kernel_t* kernel) {
  return kernel->op->flags & LEAT_OP_STATEFUL ? 0
                                              : leat_simulated_device_next_stream(kernel->device);
}

static leat_status_t enqueue(leat_kernel_context_t* c, launch_t* l, leat_simulated_task_t* task) {
  LEAT_RETURN_IF_ERROR(give_outputs(c, l));
  for (int i = 0; i < c->kernel->output_count; ++i) {
    leat_simulated_memory_await_uses(memory_of(c->kernel), &c->outputs[i].tensor, &task->after);
  }
  LEAT_RETURN_IF_ERROR(leat_simulated_writer_create(task->stream, &l->writer));
  leat_simulated_writer_t* writer = l->writer;  // once it is enqueued, the launch may end any time
  leat_reference_count_retain(&writer->references);
  leat_status_t status = leat_simulated_device_enqueue(c->kernel->device, task, &writer->number);
  if (!status) note(c, writer);
  leat_simulated_writer_release(writer);
  return status;
}

// ---- To the end ---------------------------------------------------------------------------------

// Sets the inputs by the stream's addresses. The twin may keep their buffers (as the value of a
// variable), so these are made lasting.
static void enter(launch_t* l) {
  const leat_kernel_context_t* c = l->context;
  leat_simulated_memory_t* memory = memory_of(c->kernel);
  for (int i = 0; i < c->kernel->input_count; ++i) {
    l->slots[i] = c->slots[c->input_slots[i]];
    const leat_buffer_t* buffer = l->slots[i].tensor.buffer;
    bool is_given = buffer && i < 64 && (c->last_readers >> i & 1) &&
                    leat_buffer_is_exclusive(buffer);
    leat_simulated_memory_make_lasting(memory, &l->slots[i].tensor, is_given);
    leat_simulated_memory_enter(memory, &l->slots[i].tensor);
  }
  l->services.memory = leat_simulated_memory_inner(memory);
}

// Moves the outputs to the executor's context. An input that the twin took over or forwarded is
// taken out of the executor's slots as well.
static void leave(launch_t* l) {
  leat_kernel_context_t* c = l->context;
  for (int i = 0; i < c->kernel->input_count; ++i) {
    if (l->numbers[i] != (uint32_t)i) continue;
    leat_tensor_t* input = &c->slots[c->input_slots[i]].tensor;
    if (!l->slots[i].tensor.buffer) input->buffer = NULL;
    if (!l->slots[i].tensor.dtype) *input = l->slots[i].tensor;
  }
  for (int i = 0; i < c->kernel->output_count; ++i) {
    leat_simulated_memory_leave(memory_of(c->kernel), &l->inner.outputs[i].tensor);
    c->outputs[i] = l->inner.outputs[i];
  }
}

static leat_status_t run_to_the_end(void* data, int64_t start_ns) {
  launch_t* l = data;
  leat_status_t status = run_twin(l);
  leave(l);
  return status;
}

static void launch_done(void* data, leat_status_t status) {
  launch_t* l = data;
  leat_kernel_context_t* context = l->context;
  leat_kernel_done_fn_t done = l->done;
  free_launch(l);
  done(context, status);
}

// Makes a launch that borrows the executor's inputs while it runs, and that runs after all kernels
// which have been enqueued so far.
static leat_status_t make_ending(leat_kernel_context_t* c, leat_simulated_task_t* task,
                                 launch_t** out_launch) {
  leat_device_t* device = c->kernel->device;
  *task = (leat_simulated_task_t){.stream = leat_simulated_device_next_stream(device),
                                  .duration_ns = duration_of(c)};
  LEAT_RETURN_IF_ERROR(make_launch(c, &task->after, out_launch));
  (*out_launch)->context = c;
  task->work_data = task->done_data = *out_launch;
  enter(*out_launch);
  leat_simulated_device_record(device, leat_simulated_device_copy_in_stream(device) + 1,
                               &task->after);
  return leat_ok_status();
}

void leat_launch_to_the_end(leat_kernel_context_t* c, leat_kernel_done_fn_t done) {
  leat_simulated_task_t task;
  launch_t* l;
  leat_status_t status = make_ending(c, &task, &l);
  if (!status) {
    l->done = done;
    task.work = run_to_the_end;
    task.done = launch_done;
    status = leat_simulated_device_enqueue(c->kernel->device, &task, NULL);
    if (status) free_launch(l);
  }
  if (status) done(c, status);
}

// ---- Waited for ---------------------------------------------------------------------------------

static leat_status_t run_waited(void* data, int64_t start_ns) {
  launch_t* l = data;
  leat_step_listener_t* listener = l->services.listener;
  l->status = run_to_the_end(l, start_ns);
  if (!l->status) {
    listener->ended(listener, l->kernel, l->context->outputs, leat_clock_now_ns() - start_ns, NULL);
  }
  leat_notification_open(&l->ended);
  return leat_ok_status();
}

// Blocks until the twin has run. This is safe, because the twin needs nothing but its stream; the
// host cannot go on without the shapes of the outputs.
static leat_status_t run_and_wait(leat_kernel_context_t* c) {
  leat_simulated_task_t task;
  launch_t* l;
  LEAT_RETURN_IF_ERROR(make_ending(c, &task, &l));
  leat_notification_initialize(&l->ended);
  task.work = run_waited;
  leat_status_t status = leat_simulated_device_enqueue(c->kernel->device, &task, NULL);
  if (!status) {
    leat_notification_wait(&l->ended, LEAT_DEADLINE_NEVER);
    status = l->status;
  }
  leat_notification_deinitialize(&l->ended);
  free_launch(l);
  return status;
}

// ---- The usual way ------------------------------------------------------------------------------

leat_status_t leat_launch_enqueue(leat_kernel_context_t* c) {
  leat_simulated_task_t task = {.stream = stream_for(c->kernel),
                                .duration_ns = duration_of(c),
                                .work = run_enqueued};
  launch_t* l;
  LEAT_RETURN_IF_ERROR(make_launch(c, &task.after, &l));
  task.work_data = l;
  hold_inputs(c, l);
  bool known = false;
  leat_status_t status =
      leat_output_shapes_find(((const leat_twin_t*)c->kernel->state)->shapes, l->facts,
                              c->kernel->input_count, c->kernel->output_count, l->shapes, &known);
  if (!status && known) status = enqueue(c, l, &task);
  if (status || !known) free_enqueued(l);
  return status || known ? status : run_and_wait(c);
}
