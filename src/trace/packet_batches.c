// Batch n lies at place n modulo the number of places. A thread that has nothing to do looks first
// whether the oldest batch can be put, since that makes room, and else fills the next one and
// decodes it at once, while its bytes are in the cache. Filling and putting are each done by one
// thread at a time; what they change (the rest of the last batch, whatever the user's put does) is
// theirs meanwhile, and the lock orders one turn before the next. A packet that a batch has no room
// for, or that the file's part read so far does not hold as a whole, becomes the beginning of the
// next one.
#include "trace/packet_batches.h"

#include <string.h>

#include "base/checked.h"
#include "base/cpu.h"
#include "base/sync.h"
#include "base/thread.h"
#include "formats/wire/wire.h"

#define BATCH_BYTES ((size_t)1 << 20)
#define HEAD_BYTES 11  // a tag and a length of ten bytes
#define MAX_PLACES (LEAT_PACKET_MAX_THREADS + 2)

typedef struct place_s {
  leat_packet_batch_t batch;
  bool is_decoded;
} place_t;

typedef struct pipe_s {
  leat_file_t* file;
  const leat_packet_user_t* user;
  leat_mutex_t lock;
  leat_condition_t changed;
  place_t places[MAX_PLACES];
  size_t place_count;
  uint64_t filled, put;  // numbers of the next batches
  bool is_filling, is_putting, is_end;
  leat_status_t status;  // the first error
  uint32_t thread_count;
  // Of who fills: the file's next bytes, the first of which are |rest|.
  uint64_t offset;
  char rest[LEAT_PACKET_MAX_BYTES + HEAD_BYTES];
  size_t rest_bytes;
} pipe_t;

// ---- Filling ------------------------------------------------------------------------------------

typedef enum { WHOLE, CUT, BROKEN } packet_state_t;

static packet_state_t look_at_any_packet(const uint8_t* start, const uint8_t* end,
                                         const uint8_t** out_next, uint32_t* out_number,
                                         leat_string_view_t* out_packet) {
  uint32_t type;
  uint64_t size = 0;
  const uint8_t* next = leat_wire_read_tag(start, end, out_number, &type);
  if (next && type == LEAT_WIRE_LENGTH) next = leat_wire_read_varint(next, end, &size);
  if (!next && end - start < HEAD_BYTES) return CUT;
  if (!next || type != LEAT_WIRE_LENGTH || size > LEAT_PACKET_MAX_BYTES) return BROKEN;
  if (size > (uint64_t)(end - next)) return CUT;
  *out_packet = leat_string_view_make((const char*)next, (size_t)size);
  *out_next = next + size;
  return WHOLE;
}

// Looks at the packet at |start|; where it is whole, |*out_next| is what follows it. Nearly all
// have the number 1 and a size of one byte or two.
static inline packet_state_t look_at_packet(const uint8_t* start, const uint8_t* end,
                                            const uint8_t** out_next, uint32_t* out_number,
                                            leat_string_view_t* out_packet) {
  if (end - start >= 3 && start[0] == (1 << 3 | LEAT_WIRE_LENGTH) &&
      (start[1] < 0x80 || start[2] < 0x80)) {
    const size_t head = start[1] < 0x80 ? 2 : 3;
    const size_t size = head == 2 ? start[1] : (start[1] & 0x7fu) | (size_t)start[2] << 7;
    if (size > (size_t)(end - start) - head) return CUT;
    *out_number = 1;
    *out_packet = leat_string_view_make((const char*)start + head, size);
    *out_next = start + head + size;
    return WHOLE;
  }
  return look_at_any_packet(start, end, out_next, out_number, out_packet);
}

bool leat_packet_batch_next(const leat_packet_batch_t* batch, size_t* inout_at,
                            uint32_t* out_number, leat_string_view_t* out_packet) {
  const uint8_t *bytes = (const uint8_t*)batch->bytes, *next;
  if (*inout_at >= batch->size ||
      look_at_packet(bytes + *inout_at, bytes + batch->size, &next, out_number, out_packet)) {
    return false;
  }
  *inout_at = (size_t)(next - bytes);
  return true;
}

static leat_status_t fill(pipe_t* pipe, leat_packet_batch_t* batch, bool* out_is_end) {
  uint32_t number;
  leat_string_view_t packet;
  packet_state_t state = CUT;
  size_t got = 1, size = pipe->rest_bytes;
  memcpy(batch->bytes, pipe->rest, size);
  while (got && size < BATCH_BYTES) {
    LEAT_RETURN_IF_ERROR(pipe->file->vtable->read_at(pipe->file, pipe->offset + size,
                                                     batch->bytes + size, BATCH_BYTES - size,
                                                     &got));
    size += got;
  }
  const uint8_t *next = (const uint8_t*)batch->bytes, *end = next + size;
  while (next < end && (state = look_at_packet(next, end, &next, &number, &packet)) == WHOLE) {
  }
  batch->size = (size_t)(next - (const uint8_t*)batch->bytes);
  batch->offset = pipe->offset;
  batch->is_broken = next < end && state == BROKEN;
  batch->is_cut = next < end && state == CUT && got == 0;
  *out_is_end = got == 0 || batch->is_broken;
  pipe->offset += batch->size;
  pipe->rest_bytes = *out_is_end ? 0 : (size_t)(end - next);
  LEAT_DCHECK(pipe->rest_bytes <= sizeof pipe->rest);
  memcpy(pipe->rest, next, pipe->rest_bytes);
  return leat_ok_status();
}

// ---- Threads ------------------------------------------------------------------------------------
// These are called with the lock, and let it go while they work.

static void note(pipe_t* pipe, leat_status_t status) {
  pipe->status = leat_status_join(pipe->status, status);
}

static void put_oldest(pipe_t* pipe, place_t* place) {
  pipe->is_putting = true;
  leat_mutex_unlock(&pipe->lock);
  leat_status_t status = pipe->user->put(pipe->user->data, &place->batch);
  leat_mutex_lock(&pipe->lock);
  note(pipe, status);
  pipe->is_putting = false;
  place->is_decoded = false;
  ++pipe->put;
  leat_condition_notify_all(&pipe->changed);
}

static void fill_next(pipe_t* pipe, uint32_t thread) {
  place_t* place = &pipe->places[pipe->filled % pipe->place_count];
  bool is_end = false;
  pipe->is_filling = true;
  leat_mutex_unlock(&pipe->lock);
  leat_status_t status = fill(pipe, &place->batch, &is_end);
  leat_mutex_lock(&pipe->lock);
  note(pipe, status);
  pipe->is_filling = false;
  pipe->is_end = is_end;
  ++pipe->filled;
  place->batch.thread = thread;
  leat_condition_notify_all(&pipe->changed);
  if (pipe->status) return;
  leat_mutex_unlock(&pipe->lock);
  status = pipe->user->decode(pipe->user->data, &place->batch);
  leat_mutex_lock(&pipe->lock);
  note(pipe, status);
  place->is_decoded = true;
  leat_condition_notify_all(&pipe->changed);
}

static void work(pipe_t* pipe, uint32_t thread) {
  leat_mutex_lock(&pipe->lock);
  while (!pipe->status && !(pipe->is_end && pipe->put == pipe->filled)) {
    place_t* oldest = &pipe->places[pipe->put % pipe->place_count];
    if (!pipe->is_putting && pipe->put < pipe->filled && oldest->is_decoded) {
      put_oldest(pipe, oldest);
    } else if (!pipe->is_filling && !pipe->is_end &&
               pipe->filled - pipe->put < pipe->place_count) {
      fill_next(pipe, thread);
    } else {
      leat_condition_wait(&pipe->changed, &pipe->lock);
    }
  }
  leat_mutex_unlock(&pipe->lock);
}

typedef struct worker_s {
  pipe_t* pipe;
  uint32_t number;
  leat_thread_t thread;
} worker_t;

static void run_worker(void* data) {
  const worker_t* worker = data;
  work(worker->pipe, worker->number);
}

// Works on this thread and on as many others as can be had.
static void work_together(pipe_t* pipe) {
  worker_t workers[LEAT_PACKET_MAX_THREADS];
  uint32_t count = 1;
  for (; count < pipe->thread_count; ++count) {
    workers[count] = (worker_t){.pipe = pipe, .number = count};
    leat_status_t status =
        leat_thread_start("leat-reader", run_worker, &workers[count], &workers[count].thread);
    leat_status_free(status);
    if (status) break;
  }
  work(pipe, 0);
  while (--count > 0) leat_thread_join(workers[count].thread);
}

static leat_status_t make_places(pipe_t* pipe) {
  leat_allocator_t* a = leat_allocator_system();
  for (; pipe->place_count < pipe->thread_count + 2; ++pipe->place_count) {
    leat_packet_batch_t* batch = &pipe->places[pipe->place_count].batch;
    LEAT_RETURN_IF_ERROR(
        leat_allocator_allocate_uninitialized(a, 16, BATCH_BYTES, (void**)&batch->bytes));
    LEAT_RETURN_IF_ERROR(leat_allocator_allocate(a, pipe->user->decoded_bytes, &batch->decoded));
  }
  return leat_ok_status();
}

leat_status_t leat_packet_batches_read(leat_file_t* file, const leat_packet_user_t* user) {
  leat_allocator_t* a = leat_allocator_system();
  pipe_t* pipe;
  uint64_t size = 0;
  LEAT_RETURN_IF_ERROR(file->vtable->size(file, &size));
  LEAT_RETURN_IF_ERROR(LEAT_ALLOCATE(a, 1, &pipe));
  pipe->file = file;
  pipe->user = user;
  // A thread is worth its start from some batches on.
  const int most = LEAT_MIN(leat_cpu_count(), LEAT_PACKET_MAX_THREADS);
  pipe->thread_count = size < 4 * BATCH_BYTES ? 1 : (uint32_t)LEAT_MAX(most, 1);
  leat_mutex_initialize(&pipe->lock);
  leat_condition_initialize(&pipe->changed);
  leat_status_t status = make_places(pipe);
  if (!status) {
    work_together(pipe);
    status = pipe->status;
  }
  for (size_t i = 0; i < MAX_PLACES; ++i) {
    leat_packet_batch_t* batch = &pipe->places[i].batch;
    if (batch->decoded) user->free(user->data, batch->decoded);
    leat_allocator_free(a, batch->decoded);
    leat_allocator_free(a, batch->bytes);
  }
  leat_condition_deinitialize(&pipe->changed);
  leat_mutex_deinitialize(&pipe->lock);
  leat_allocator_free(a, pipe);
  return status;
}
