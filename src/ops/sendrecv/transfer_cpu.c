// Kernels of _Send and _Recv. The key's fixed part is made once; the iteration is appended at run
// time: "src;incarnation;dst;name;frame:iteration". On a device with memory of its own a send first
// copies to the host, a receive from it.
#include <inttypes.h>
#include <stdio.h>

#include "kernel/rendezvous.h"
#include "ops/family.h"
#include "ops/sendrecv/transfer_kernels.h"

typedef struct transfer_s {
  leat_allocator_t* allocator;
  char* key;  // the fixed part
  size_t fixed_bytes;
} transfer_t;

static leat_status_t transfer_create(leat_kernel_creation_t* c, void* state) {
  transfer_t* transfer = state;
  leat_string_view_t sender, receiver, name;
  int64_t incarnation;
  LEAT_RETURN_IF_ERROR(leat_kernel_attr_string(c, "send_device", &sender));
  LEAT_RETURN_IF_ERROR(leat_kernel_attr_string(c, "recv_device", &receiver));
  LEAT_RETURN_IF_ERROR(leat_kernel_attr_string(c, "tensor_name", &name));
  LEAT_RETURN_IF_ERROR(leat_kernel_attr_int(c, "send_device_incarnation", &incarnation));
  size_t room = sender.size + receiver.size + name.size + 24;
  LEAT_RETURN_IF_ERROR(leat_allocator_allocate(c->allocator, room, (void**)&transfer->key));
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

// The whole key, in |storage|.
static leat_status_t transfer_key(const leat_kernel_context_t* c, leat_string_builder_t* storage,
                                  leat_string_view_t* out_key) {
  const transfer_t* transfer = leat_kernel_state(c);
  leat_string_builder_initialize(leat_allocator_system(), storage);
  leat_string_builder_append(storage,
                             leat_string_view_make(transfer->key, transfer->fixed_bytes));
  leat_string_builder_print(storage, "%" PRIu64 ":%" PRIu64, c->frame_iteration >> 32,
                            c->frame_iteration & UINT32_MAX);
  *out_key = leat_string_builder_view(storage);
  leat_status_t status = storage->status;
  storage->status = leat_ok_status();
  return status;
}

static leat_status_t leave(leat_kernel_context_t* c, leat_slot_t value) {
  leat_rendezvous_t* rendezvous = c->services->rendezvous;
  leat_string_builder_t storage;
  leat_string_view_t key;
  leat_status_t status = rendezvous ? transfer_key(c, &storage, &key)
                                    : leat_kernel_error(c, LEAT_INTERNAL,
                                                        "the step has no rendezvous");
  if (status) {
    leat_slot_release(&value);
  } else {
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

// A receive under way: the context waits, so it is all that must be kept.
typedef struct reception_s {
  leat_kernel_context_t* context;
  leat_kernel_done_fn_t done;
} reception_t;

static void recv_received(void* data, leat_status_t status, leat_slot_t value) {
  reception_t reception = *(reception_t*)data;
  leat_allocator_free(leat_allocator_system(), data);
  if (!status) reception.context->outputs[0] = value;
  reception.done(reception.context, status);
}

static leat_status_t start_receive(leat_kernel_context_t* c, leat_kernel_done_fn_t done) {
  leat_rendezvous_t* rendezvous = c->services->rendezvous;
  if (!rendezvous) return leat_kernel_error(c, LEAT_INTERNAL, "the step has no rendezvous");
  reception_t* reception;
  LEAT_RETURN_IF_ERROR(
      leat_allocator_allocate(leat_allocator_system(), sizeof *reception, (void**)&reception));
  *reception = (reception_t){c, done};
  leat_string_builder_t storage;
  leat_string_view_t key;
  leat_status_t status = transfer_key(c, &storage, &key);
  if (status) {
    leat_allocator_free(leat_allocator_system(), reception);
  } else {
    rendezvous->vtable->receive(rendezvous, key, recv_received, reception);
  }
  leat_string_builder_deinitialize(&storage);
  return status;
}

static void recv__cpu(leat_kernel_context_t* c, leat_kernel_done_fn_t done) {
  leat_status_t status = start_receive(c, done);
  if (status) done(c, status);
}

// ---- On devices with memory of their own --------------------------------------------------------

// A copy under way out of the device, to be sent; or a value that is awaited, to be copied into it.
typedef struct moving_s {
  leat_kernel_context_t* context;
  leat_kernel_done_fn_t done;
  leat_slot_t value;
} moving_t;

static leat_status_t start_moving(leat_kernel_context_t* c, leat_kernel_done_fn_t done,
                                  moving_t** out_moving) {
  LEAT_RETURN_IF_ERROR(leat_allocator_allocate(leat_allocator_system(), sizeof(moving_t),
                                               (void**)out_moving));
  **out_moving = (moving_t){c, done, {.alive = true}};
  return leat_ok_status();
}

static void copied_out(void* data, leat_status_t status) {
  moving_t moving = *(moving_t*)data;
  leat_allocator_free(leat_allocator_system(), data);
  if (status) {
    leat_slot_release(&moving.value);
  } else {
    status = leave(moving.context, moving.value);
  }
  moving.done(moving.context, status);
}

static void send__device(leat_kernel_context_t* c, leat_kernel_done_fn_t done) {
  leat_device_t* device = c->kernel->device;
  moving_t* moving;
  if (c->inputs_dead) {
    done(c, leave(c, (leat_slot_t){.alive = false}));
    return;
  }
  leat_status_t status = start_moving(c, done, &moving);
  if (status) {
    done(c, status);
    return;
  }
  // Where nobody else reads the value its memory is free for work behind the copy.
  leat_slot_t* input = &c->slots[c->input_slots[0]];
  leat_tensor_t value = c->last_readers & 1 && !input->ref ? leat_tensor_move(&input->tensor)
                                                           : leat_tensor_share(&input->tensor);
  device->vtable->copy_to_host(device, &value, &moving->value.tensor, copied_out, moving);
  leat_tensor_release(&value);
}

static void receive_then_copy(void* data, leat_status_t status, leat_slot_t value) {
  moving_t moving = *(moving_t*)data;
  leat_kernel_context_t* c = moving.context;
  leat_device_t* device = c->kernel->device;
  leat_allocator_free(leat_allocator_system(), data);
  if (!status && value.alive) {
    status = device->vtable->copy_from_host(device, &value.tensor, &c->outputs[0].tensor);
    c->outputs[0].alive = !status;
    leat_slot_release(&value);
  } else if (!status) {
    c->outputs[0] = value;
  }
  moving.done(c, status);
}

static void recv__device(leat_kernel_context_t* c, leat_kernel_done_fn_t done) {
  leat_rendezvous_t* rendezvous = c->services->rendezvous;
  moving_t* moving = NULL;
  leat_string_builder_t storage;
  leat_string_view_t key;
  leat_status_t status = rendezvous ? start_moving(c, done, &moving)
                                    : leat_kernel_error(c, LEAT_INTERNAL,
                                                        "the step has no rendezvous");
  if (status) {
    done(c, status);
    return;
  }
  status = transfer_key(c, &storage, &key);
  if (status) {
    leat_allocator_free(leat_allocator_system(), moving);
    done(c, status);
  } else {
    rendezvous->vtable->receive(rendezvous, key, receive_then_copy, moving);
  }
  leat_string_builder_deinitialize(&storage);
}

#define TRANSFER(op_name, device, ...)                                                          \
  {.op = op_name, .device_type = device, .create = transfer_create, .destroy = transfer_destroy, \
   .state_bytes = sizeof(transfer_t), __VA_ARGS__}

const leat_kernel_row_t leat_transfer_kernels_device[] = {
    TRANSFER("_Send", "", .compute_async = send__device),
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
