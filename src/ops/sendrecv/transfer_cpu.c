// CPU kernels of _Send and _Recv. The key's fixed part is made once; the iteration is appended at
// run time: "src;incarnation;dst;name;frame:iteration".
#include <inttypes.h>
#include <stdio.h>

#include "kernel/rendezvous.h"
#include "ops/family.h"

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

static leat_status_t send__cpu(leat_kernel_context_t* c) {
  leat_rendezvous_t* rendezvous = c->services->rendezvous;
  if (!rendezvous) return leat_kernel_error(c, LEAT_INTERNAL, "the step has no rendezvous");
  leat_string_builder_t storage;
  leat_string_view_t key;
  leat_status_t status = transfer_key(c, &storage, &key);
  if (!status) {
    leat_slot_t value = {.alive = !c->inputs_dead};
    if (value.alive) value.tensor = leat_tensor_share(leat_kernel_input(c, 0));
    status = rendezvous->vtable->send(rendezvous, key, value);
  }
  leat_string_builder_deinitialize(&storage);
  return status;
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

const leat_kernel_row_t leat_transfer_kernels_cpu[] = {
    {.op = "_Send", .device_type = "CPU", .compute = send__cpu, .create = transfer_create,
     .destroy = transfer_destroy, .state_bytes = sizeof(transfer_t)},
    {.op = "_Recv", .device_type = "CPU", .compute_async = recv__cpu, .create = transfer_create,
     .destroy = transfer_destroy, .state_bytes = sizeof(transfer_t)},
    LEAT_KERNEL_ROWS_END,
};
