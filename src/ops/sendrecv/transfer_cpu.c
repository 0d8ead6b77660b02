// Kernels of _Send and _Recv (section 3.2.2). A value waits in the step's rendezvous under a key
// that both ends have. Where the partitioner numbered the transfers and the step's rendezvous has
// room for their numbers, which is so in every step that stays in this process, the key is the
// number with the frame and iteration. Else both ends compute a text:
//
//   "send device;incarnation;receive device;edge name;" + "frame:iteration"
//    made when the kernel is created                      appended in each run
//
// The incarnation is a random number that a device draws when it is made, so that a device that was
// restarted does not get the values of its former self. The iteration keeps apart the values that
// one edge carries in a loop. A dead value is sent as well, because its receiver must learn that it
// is dead.
//
// On a device with memory of its own, a send copies the value to the host and puts it into the
// rendezvous when the copy has ended, and a receive copies it into the device. Neither kernel waits
// for a copy: the send's value is kept by a departure, which outlives the kernel, and readers of a
// received value wait for its copy on the device's stream.
#include <inttypes.h>
#include <stdio.h>

#include "base/span.h"
#include "kernel/rendezvous.h"
#include "ops/kernel_rows.h"
#include "ops/sendrecv/transfer_kernels.h"

typedef struct transfer_s {
  leat_allocator_t* allocator;
  char* key;  // the part that does not depend on the run
  size_t fixed_bytes;
  int64_t number;  // LEAT_ATTR_NAME_TRANSFER; negative: none
} transfer_t;

// Reads the transfer's number, if it has one, and prints the part of the text key that is the same
// in every run.
static leat_status_t transfer_create(leat_kernel_creation_t* c, void* state) {
  transfer_t* transfer = state;
  leat_string_view_t sender, receiver, name;
  int64_t incarnation;
  LEAT_RETURN_IF_ERROR(leat_kernel_attr_string(c, "send_device", &sender));
  LEAT_RETURN_IF_ERROR(leat_kernel_attr_string(c, "recv_device", &receiver));
  LEAT_RETURN_IF_ERROR(leat_kernel_attr_string(c, "tensor_name", &name));
  LEAT_RETURN_IF_ERROR(leat_kernel_attr_int(c, "send_device_incarnation", &incarnation));
  size_t room = sender.size + receiver.size + name.size + 24;
  LEAT_RETURN_IF_ERROR(LEAT_ALLOCATE(c->allocator, room, &transfer->key));
  // The attribute is none that the op declares, so it may be missing.
  const leat_attr_value_t* number =
      leat_attr_find(c->attrs, c->attr_count, LEAT_SV(LEAT_ATTR_NAME_TRANSFER));
  transfer->number = number && number->kind == LEAT_ATTR_INT && !number->is_list ? number->i : -1;
  transfer->allocator = c->allocator;
  transfer->fixed_bytes = (size_t)snprintf(
      transfer->key, room, "%.*s;%016" PRIx64 ";%.*s;%.*s;", LEAT_SV_ARG(sender),
      (uint64_t)incarnation, LEAT_SV_ARG(receiver), LEAT_SV_ARG(name));
  return leat_ok_status();
}

static void transfer_destroy(void* state) {
  transfer_t* transfer = state;
  leat_allocator_free(transfer->allocator, transfer->key);
}

// Makes the key of this run. A text is built in |storage|, which the caller deinitializes.
static leat_status_t transfer_key(const leat_kernel_context_t* c, leat_string_builder_t* storage,
                                  leat_rendezvous_key_t* out_key) {
  const transfer_t* transfer = leat_kernel_state(c);
  leat_string_builder_initialize(leat_allocator_system(), storage);
  if (LEAT_LIKELY(transfer->number >= 0 && c->services->transfer_count > 0)) {
    *out_key = leat_rendezvous_number(transfer->number,
                                      leat_hash_mix(c->frame_id, (uint64_t)c->iteration));
    return leat_ok_status();
  }
  leat_string_builder_append(storage,
                             leat_string_view_make(transfer->key, transfer->fixed_bytes));
  leat_string_builder_print(storage, "%" PRIu64 ":%" PRId64, c->frame_id, c->iteration);
  *out_key = leat_rendezvous_text(leat_string_builder_view(storage));
  leat_status_t status = storage->status;
  storage->status = leat_ok_status();
  return status;
}

// The number of the message for recordings, the same at both ends; 0: nothing is recorded. Numbers
// of transfers are told apart from texts by the kind of key that all of a step's ends use.
static int64_t message_of(const leat_kernel_context_t* c, const leat_rendezvous_key_t* key) {
  if (!leat_spans_are_recorded()) return 0;
  if (key->transfer == LEAT_RENDEZVOUS_NO_TRANSFER) {
    return leat_span_message(c->services->step_id, key->text);
  }
  const uint64_t numbers[] = {(uint64_t)key->transfer, key->iteration};
  return leat_span_message(c->services->step_id,
                           leat_string_view_make((const char*)numbers, sizeof numbers));
}

// Puts |value| (moved, also on failure) into the step's rendezvous.
static leat_status_t leave(leat_kernel_context_t* c, leat_slot_t value) {
  leat_rendezvous_t* rendezvous = c->services->rendezvous;
  leat_string_builder_t storage;
  leat_rendezvous_key_t key;
  leat_status_t status = rendezvous ? transfer_key(c, &storage, &key)
                                    : leat_kernel_error(c, LEAT_INTERNAL,
                                                        "the step has no rendezvous");
  if (status) {
    leat_slot_release(&value);
  } else {
    const int64_t message = message_of(c, &key);
    if (LEAT_UNLIKELY(message)) leat_span_mark(LEAT_SPAN_SEND, 0, message);
    status = rendezvous->vtable->send(rendezvous, key, value);
  }
  if (rendezvous) leat_string_builder_deinitialize(&storage);
  return status;
}

static leat_status_t send__cpu(leat_kernel_context_t* c) {
  leat_slot_t value = {.alive = !c->inputs_dead};
  if (value.alive) value.tensor = leat_tensor_share(leat_kernel_input(c, 0));
  return leave(c, value);
}

// A receive under way. The kernel's context stays valid until |done|, so nothing else need be kept.
typedef struct reception_s {
  leat_kernel_context_t* context;
  leat_kernel_done_fn_t done;
  int64_t message;
} reception_t;

static reception_t take_reception(void* data) {
  reception_t reception = *(reception_t*)data;
  leat_allocator_free(leat_allocator_system(), data);
  if (LEAT_UNLIKELY(reception.message)) {
    leat_span_mark(LEAT_SPAN_RECEIVE, leat_kernel_span_name(reception.context->kernel),
                   reception.message);
  }
  return reception;
}

// Checks that a value that came is of the type that the node promises to its readers, which index
// by it. Whoever sent the value may be another process or the client, so nothing else guarantees
// it. A value of another type is released.
static leat_status_t check_type(const leat_kernel_context_t* c, leat_slot_t* value) {
  const int wanted = c->kernel->output_types[0], got = value->tensor.dtype;
  if (!value->alive || LEAT_LIKELY(got == wanted)) return leat_ok_status();
  const transfer_t* transfer = leat_kernel_state(c);
  leat_slot_release(value);
  return leat_kernel_error(c, LEAT_INTERNAL,
                           "the value received for '%.*s' has type %s, must be tensor_type %s",
                           (int)transfer->fixed_bytes, transfer->key, leat_dtype_name(got),
                           leat_dtype_name(wanted));
}

// A leat_rendezvous_receive_fn_t: the value, which may be dead, becomes the output.
static void received(void* data, leat_status_t status, leat_slot_t value) {
  reception_t reception = take_reception(data);
  if (!status) status = check_type(reception.context, &value);
  if (!status) reception.context->outputs[0] = value;
  reception.done(reception.context, status);
}

static leat_status_t start_receive(leat_kernel_context_t* c, leat_kernel_done_fn_t done,
                                   leat_rendezvous_receive_fn_t fn) {
  leat_rendezvous_t* rendezvous = c->services->rendezvous;
  if (!rendezvous) return leat_kernel_error(c, LEAT_INTERNAL, "the step has no rendezvous");
  reception_t* reception;
  LEAT_RETURN_IF_ERROR(LEAT_ALLOCATE(leat_allocator_system(), 1, &reception));
  *reception = (reception_t){.context = c, .done = done};
  leat_string_builder_t storage;
  leat_rendezvous_key_t key;
  leat_status_t status = transfer_key(c, &storage, &key);
  if (status) {
    leat_allocator_free(leat_allocator_system(), reception);
  } else {
    reception->message = message_of(c, &key);
    rendezvous->vtable->receive(rendezvous, key, fn, reception);
  }
  leat_string_builder_deinitialize(&storage);
  return status;
}

static void receive(leat_kernel_context_t* c, leat_kernel_done_fn_t done,
                    leat_rendezvous_receive_fn_t fn) {
  leat_status_t status = start_receive(c, done, fn);
  if (status) done(c, status);
}

static void recv__cpu(leat_kernel_context_t* c, leat_kernel_done_fn_t done) {
  receive(c, done, received);
}

// ---- On devices with memory of their own --------------------------------------------------------

// A value that is being copied out of the device. By the time the copy ends the kernel has
// returned, and even the step may be over; the departure therefore holds all that sending needs.
typedef struct departure_s {
  leat_rendezvous_t* rendezvous;  // retained
  leat_string_builder_t storage;
  leat_rendezvous_key_t key;  // its text is in |storage|
  int64_t message;
  leat_slot_t value;
} departure_t;

static void free_departure(departure_t* departure) {
  leat_slot_release(&departure->value);
  leat_string_builder_deinitialize(&departure->storage);
  leat_rendezvous_release(departure->rendezvous);
  leat_allocator_free(leat_allocator_system(), departure);
}

// Sends the value when its copy has ended. When that fails the rendezvous is aborted, as otherwise
// the receiver would wait forever.
static void copied_out(void* data, leat_status_t status) {
  departure_t* departure = data;
  leat_rendezvous_t* rendezvous = departure->rendezvous;
  leat_slot_t value = departure->value;
  departure->value = (leat_slot_t){.alive = false};
  if (status) {
    leat_slot_release(&value);
  } else {
    if (LEAT_UNLIKELY(departure->message)) {
      leat_span_mark(LEAT_SPAN_SEND, 0, departure->message);
    }
    status = rendezvous->vtable->send(rendezvous, departure->key, value);
  }
  if (status) rendezvous->vtable->abort(rendezvous, status);
  leat_status_free(status);
  free_departure(departure);
}

static leat_status_t send__device(leat_kernel_context_t* c) {
  leat_device_t* device = c->kernel->device;
  leat_rendezvous_t* rendezvous = c->services->rendezvous;
  if (c->inputs_dead || !rendezvous) return leave(c, (leat_slot_t){.alive = false});
  departure_t* departure;
  LEAT_RETURN_IF_ERROR(LEAT_ALLOCATE(leat_allocator_system(), 1, &departure));
  departure->rendezvous = rendezvous;
  departure->value.alive = true;
  leat_rendezvous_retain(rendezvous);
  leat_status_t status = transfer_key(c, &departure->storage, &departure->key);
  if (!status) {
    departure->message = message_of(c, &departure->key);
    status = device->vtable->copy_to_host(device, leat_kernel_input(c, 0),
                                          &departure->value.tensor, copied_out, departure);
  }
  if (status) free_departure(departure);
  return status;
}

// Enqueues the copy into the device and ends the kernel: other kernels of the device may use the
// output at once, since their stream waits for the copy.
static void device_received(void* data, leat_status_t status, leat_slot_t value) {
  reception_t reception = take_reception(data);
  leat_kernel_context_t* c = reception.context;
  leat_device_t* device = c->kernel->device;
  if (!status) status = check_type(c, &value);
  if (!status && value.alive) {
    status = device->vtable->copy_from_host(device, &value.tensor, &c->outputs[0].tensor);
    c->outputs[0].alive = !status;
    leat_slot_release(&value);
  } else if (!status) {
    c->outputs[0] = value;
  }
  reception.done(c, status);
}

static void recv__device(leat_kernel_context_t* c, leat_kernel_done_fn_t done) {
  receive(c, done, device_received);
}

#define TRANSFER(op_name, device, ...)                                                          \
  {.op = op_name, .device_type = device, .create = transfer_create, .destroy = transfer_destroy, \
   .state_bytes = sizeof(transfer_t), __VA_ARGS__}

const leat_kernel_row_t leat_transfer_kernels_device[] = {
    TRANSFER("_Send", "", .compute = send__device),
    TRANSFER("_Recv", "", .compute_async = recv__device),
    TRANSFER("_HostSend", "", .compute = send__cpu, .host_memory = "tensor"),
    TRANSFER("_HostRecv", "", .compute_async = recv__cpu, .host_memory = "tensor"),
    LEAT_KERNEL_ROWS_END,
};

const leat_kernel_row_t leat_transfer_kernels_cpu[] = {
    TRANSFER("_Send", "CPU", .compute = send__cpu),
    TRANSFER("_Recv", "CPU", .compute_async = recv__cpu),
    TRANSFER("_HostSend", "CPU", .compute = send__cpu),
    TRANSFER("_HostRecv", "CPU", .compute_async = recv__cpu),
    LEAT_KERNEL_ROWS_END,
};
