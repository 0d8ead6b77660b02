// CPU kernels of communicators: groups that are formed once, by members that ask for ranks, and
// then take part in any number of collectives. The members' kernels meet when they make the
// communicator, which checks the ranks; the handle that they output holds what each of them has to
// say in later rounds. These are numbered in each member, so all members use the communicator in
// the same order. Their numbers are negative, to keep them apart from those of nodes that name the
// group by its key.
#include "kernel/handle.h"
#include "ops/collective/collective_cpu.h"

typedef struct communicator_s {
  leat_resource_t resource;
  int32_t group_key, group_size, rank;
  _Atomic(int32_t) uses;
} communicator_t;

static void communicator_destroy(leat_resource_t* resource) {
  leat_allocator_free(leat_allocator_system(), resource);
}

static const leat_resource_kind_t kCommunicatorKind = {.name = "Communicator",
                                                       .destroy = communicator_destroy};

#define MEETING_INSTANCE INT32_MIN

static leat_status_t read_member(const leat_kernel_context_t* c, leat_collective_call_t* call) {
  LEAT_RETURN_IF_ERROR(leat_collective_scalar(c, 0, "group_key", &call->group_key));
  LEAT_RETURN_IF_ERROR(leat_collective_scalar(c, 1, "rank", &call->place));
  LEAT_RETURN_IF_ERROR(leat_collective_scalar(c, 2, "group_size", &call->group_size));
  LEAT_RETURN_IF_ERROR(leat_collective_check_size(c, call->group_size));
  if (call->place < 0) {
    return leat_kernel_invalid(c, "rank must be non-negative integer but got %d", (int)call->place);
  }
  if (call->place >= call->group_size) {
    return leat_kernel_invalid(c, "rank must be less than group size but got %d >= %d",
                               (int)call->place, (int)call->group_size);
  }
  return leat_ok_status();
}

// All members are there: outputs the handle.
static leat_status_t set_communicator(leat_kernel_context_t* c) {
  leat_collective_call_t call = {0};
  communicator_t* communicator;
  LEAT_RETURN_IF_ERROR(read_member(c, &call));
  LEAT_RETURN_IF_ERROR(LEAT_ALLOCATE(leat_allocator_system(), 1, &communicator));
  *communicator = (communicator_t){.resource = {&kCommunicatorKind, 1},
                                   .group_key = call.group_key,
                                   .group_size = call.group_size,
                                   .rank = call.place};
  return leat_handle_own_resource(c, 0, &communicator->resource);
}

static void initialize__cpu(leat_kernel_context_t* c, leat_kernel_done_fn_t done) {
  leat_collective_call_t call = leat_collective_call_of(c, LEAT_COLLECTIVE_MEET);
  call.instance_key = MEETING_INSTANCE;
  call.completed = set_communicator;
  leat_status_t status = read_member(c, &call);
  leat_collective_go(c, status, &call, done);
}

// The next collective of the communicator at input 1.
static leat_status_t read_communicator(leat_kernel_context_t* c, leat_collective_call_t* call) {
  leat_resource_t* resource;
  LEAT_RETURN_IF_ERROR(leat_handle_find(c, 1, &kCommunicatorKind, &resource));
  if (leat_kernel_input(c, 2)->shape.element_count > 0) {
    leat_resource_release(resource);
    return leat_kernel_error(c, LEAT_UNIMPLEMENTED, "group assignments are not supported");
  }
  communicator_t* communicator = (communicator_t*)resource;
  call->group_key = communicator->group_key;
  call->group_size = communicator->group_size;
  call->place = communicator->rank;
  call->instance_key = -1 - (atomic_fetch_add(&communicator->uses, 1) & (INT32_MAX >> 1));
  leat_resource_release(resource);
  return leat_ok_status();
}

static void reduce__cpu(leat_kernel_context_t* c, leat_kernel_done_fn_t done) {
  leat_collective_call_t call = leat_collective_call_of(c, LEAT_COLLECTIVE_REDUCE);
  leat_status_t status = read_communicator(c, &call);
  if (!status) status = leat_collective_prepare_reduce(c, &call);
  leat_collective_go(c, status, &call, done);
}

static void all_to_all__cpu(leat_kernel_context_t* c, leat_kernel_done_fn_t done) {
  leat_collective_call_t call = leat_collective_call_of(c, LEAT_COLLECTIVE_ALL_TO_ALL);
  leat_status_t status = read_communicator(c, &call);
  if (!status) status = leat_collective_prepare_all_to_all(c, &call);
  leat_collective_go(c, status, &call, done);
}

const leat_kernel_row_t leat_communicator_kernels_cpu[] = {
    LEAT_COLLECTIVE_ROW("CollectiveInitializeCommunicator", initialize__cpu),
    LEAT_COLLECTIVE_ROW("CollectiveReduceV3", reduce__cpu),
    LEAT_COLLECTIVE_ROW("CollectiveAllToAllV3", all_to_all__cpu),
    LEAT_KERNEL_ROWS_END,
};
