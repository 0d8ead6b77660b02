// CPU kernels of communicators: groups that are formed once, by members that ask for places, and
// then take part in any number of collectives. The members' kernels meet when they make the
// communicator: they gather the places, and each checks that no two are the same. The handle that
// they output holds what each of them has to say in later rounds. These are numbered in each
// member, so all members use the communicator in the same order. Their numbers are negative, to
// keep them apart from those of nodes that name the group by its key.
#include "base/checked.h"
#include "kernel/handle.h"
#include "ops/collective/collective_cpu.h"

typedef struct communicator_s {
  leat_resource_t resource;
  int32_t group_key, group_size;
  int32_t place;        // the member's own
  leat_shape_t shape;   // of |places|
  _Atomic(int32_t) uses;
  int32_t places[];     // [group_size] by rank
} communicator_t;

static void communicator_destroy(leat_resource_t* resource) {
  leat_shape_release(&((communicator_t*)resource)->shape);
  leat_allocator_free(leat_allocator_system(), resource);
}

static const leat_resource_kind_t kCommunicatorKind = {.name = "Communicator",
                                                       .destroy = communicator_destroy};

#define MEETING_INSTANCE INT32_MIN

static leat_status_t read_member(const leat_kernel_context_t* c, leat_collective_call_t* call,
                                 int32_t* out_place) {
  LEAT_RETURN_IF_ERROR(leat_collective_scalar(c, 0, "group_key", &call->group_key));
  LEAT_RETURN_IF_ERROR(leat_collective_scalar(c, 1, "rank", out_place));
  LEAT_RETURN_IF_ERROR(leat_collective_scalar(c, 2, "group_size", &call->group_size));
  LEAT_RETURN_IF_ERROR(leat_collective_check_size(c, call->group_size));
  if (*out_place < 0) {
    return leat_kernel_invalid(c, "rank must be non-negative integer but got %d", (int)*out_place);
  }
  if (*out_place >= call->group_size) {
    return leat_kernel_invalid(c, "rank must be less than group size but got %d >= %d",
                               (int)*out_place, (int)call->group_size);
  }
  return leat_ok_status();
}

// All members are there, and |call->data| holds their places.
static leat_status_t check_places(const leat_collective_call_t* call) {
  const int32_t* places = call->data;
  bool* seen;
  LEAT_RETURN_IF_ERROR(
      LEAT_ALLOCATE(leat_allocator_system(), (size_t)call->group_size, &seen));
  leat_status_t status = leat_ok_status();
  for (int32_t rank = 0; rank < call->group_size && !status; ++rank) {
    const int32_t place = places[rank];
    if (place < 0 || place >= call->group_size) {
      status = leat_make_status(LEAT_INTERNAL, "the member of rank %d has the place %d, must be in "
                                "[0, %d)", (int)rank, (int)place, (int)call->group_size);
    } else if (seen[place]) {
      status = leat_make_status(LEAT_INVALID_ARGUMENT, "Duplicate ranks specified for group "
                                "members: %d comes twice", (int)place);
    } else {
      seen[place] = true;
    }
  }
  leat_allocator_free(leat_allocator_system(), seen);
  return status;
}

// Makes the communicator, whose handle is output 0 and keeps it while its places are gathered.
static leat_status_t prepare_meeting(leat_kernel_context_t* c, leat_collective_call_t* call) {
  communicator_t* communicator;
  int32_t place;
  size_t bytes;
  LEAT_RETURN_IF_ERROR(read_member(c, call, &place));
  if (!leat_checked_multiply((size_t)call->group_size, sizeof(int32_t), &bytes) ||
      !leat_checked_add(bytes, sizeof *communicator, &bytes)) {
    return leat_kernel_invalid(c, "group_size is %d, must leave room for the places of all members",
                               (int)call->group_size);
  }
  LEAT_RETURN_IF_ERROR(
      leat_allocator_allocate(leat_allocator_system(), bytes, (void**)&communicator));
  communicator->resource = (leat_resource_t){&kCommunicatorKind, 1};
  communicator->group_key = call->group_key;
  communicator->group_size = call->group_size;
  communicator->place = place;
  leat_status_t status =
      leat_shape_create(1, (const int64_t[]){call->group_size}, &communicator->shape);
  if (status) {
    communicator_destroy(&communicator->resource);
    return status;
  }
  call->instance_key = MEETING_INSTANCE;
  call->dtype = LEAT_DTYPE_INT32;
  call->shape = &communicator->shape;
  call->data = communicator->places;
  call->count = call->group_size;
  call->sent = &communicator->place;
  call->completed = check_places;
  return leat_handle_own_resource(c, 0, &communicator->resource);
}

static void initialize__cpu(leat_kernel_context_t* c, leat_kernel_done_fn_t done) {
  leat_collective_call_t call = leat_collective_call_of(c, LEAT_COLLECTIVE_GATHER);
  leat_status_t status = prepare_meeting(c, &call);
  leat_collective_go(c, status, &call, done);
}

// The next collective of the communicator at input 1, with the places of an all-to-all in scratch
// memory: the communicator may end before the collective does.
static leat_status_t read_places(leat_kernel_context_t* c, const communicator_t* communicator,
                                 leat_collective_call_t* call) {
  if (leat_kernel_input(c, 2)->shape.element_count > 0) {
    return leat_kernel_error(c, LEAT_UNIMPLEMENTED, "group assignments are not supported");
  }
  call->group_key = communicator->group_key;
  call->group_size = communicator->group_size;
  if (call->kind != LEAT_COLLECTIVE_ALL_TO_ALL) return leat_ok_status();
  LEAT_RETURN_IF_ERROR(leat_kernel_allocate_temporary(c, LEAT_DTYPE_INT32, &communicator->shape,
                                                      &call->scratch));
  memcpy(call->scratch.data, communicator->places, leat_tensor_size_bytes(&call->scratch));
  call->places = call->scratch.data;
  return leat_ok_status();
}

static leat_status_t read_communicator(leat_kernel_context_t* c, leat_collective_call_t* call) {
  leat_resource_t* resource;
  LEAT_RETURN_IF_ERROR(leat_handle_find(c, 1, &kCommunicatorKind, &resource));
  communicator_t* communicator = (communicator_t*)resource;
  leat_status_t status = read_places(c, communicator, call);
  call->instance_key = -1 - (atomic_fetch_add(&communicator->uses, 1) & (INT32_MAX >> 1));
  call->comes_again = false;
  leat_resource_release(resource);
  return status;
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
