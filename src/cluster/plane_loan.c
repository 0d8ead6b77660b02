// Large values between two processes of one machine: the sender lends the elements, and the
// receiver reads them from the sender's memory, in one copy by the kernel. Everything else goes by
// messages as between machines.
//
//   sender                                        receiver
//   the loan holds the elements ─ LENT {elements, seal} ─▶ reads the elements, then the seal
//   and lets them go         ◀─ TAKEN {seal} ─
//
// Whether an end can read the memory of another one is found out by the greetings of their way.
// Each says in which process and where in its memory it keeps the number of the end that it greets.
// That number is random and was chosen by the end that is greeted, which therefore knows, if it
// reads its own number there, that it reads the memory of the task that it speaks with. On another
// machine, in another namespace of processes, or where the system forbids it, it reads no such
// thing, and values go by UCX.
//
// The sender may let the elements go before they are read: it stops, or holds the way for lost. Its
// memory is then used for something else, and reading it fails in no way. So each loan has a seal
// in the sender's memory, a number that no other loan had, which is broken before the elements are
// let go. The receiver reads the seal after the elements: where it is whole, so are they. This also
// tells that the process has not ended meanwhile and left its number to another one, which has no
// such seal. No process writes to the memory of another, so that one that is killed stops nobody.
#include <string.h>

#include "base/checked.h"
#include "base/host.h"
#include "base/log.h"
#include "base/process_memory.h"
#include "cluster/plane_message.h"

// Fewer bytes go by UCX: TAKEN is one more message, which costs more than it spares.
#define LEAST_BYTES 65536
// Several threads read a value: a copy by the kernel is bounded by its core, not by the memory.
#define PIECE_BYTES ((size_t)256 << 10)
#define PIECE_NS 50000.0

// In the table of loans until it is taken back.
typedef struct loan_s {
  _Atomic(uint64_t) seal;  // 0: broken
  uint64_t way;            // its number
  leat_rpc_piece_t elements;
} loan_t;

static uint64_t address_of(const volatile void* pointer) { return (uint64_t)(uintptr_t)pointer; }

// ---- The proof ----------------------------------------------------------------------------------

void leat_plane_show_memory(const leat_plane_way_t* way, leat_plane_frame_t* inout_greeting) {
  if (way->plane->options.is_distant) return;
  inout_greeting->process = leat_host_process_id();
  inout_greeting->seal_address = address_of(&way->number);
}

void leat_plane_prove_memory(leat_plane_way_t* way, const leat_plane_frame_t* greeting) {
  uint64_t number = 0;
  if (way->plane->options.is_distant || !greeting->process) return;
  leat_status_t status = leat_process_memory_read(greeting->process, greeting->seal_address,
                                                  &number, sizeof number);
  const bool is_proved = !status && number == way->plane->number;
  atomic_store(&way->process, is_proved ? greeting->process : 0);
  if (is_proved) {
    leat_log(LEAT_LOG_DEBUG, "UCX: large values of another task are read from its memory");
  } else {
    leat_log(LEAT_LOG_DEBUG, "UCX: large values of another task are sent by it: %s",
             status ? leat_status_message(status) : "another process has its number here");
  }
  leat_status_free(status);
}

// ---- The sender ---------------------------------------------------------------------------------

// Ends a loan that is no longer in the table; NULL is allowed. The seal breaks before the elements
// may change.
static void end_loan(leat_plane_t* plane, loan_t* loan) {
  if (!loan) return;
  atomic_store(&loan->seal, 0);
  loan->elements.release(loan->elements.owner);
  leat_allocator_free(plane->allocator, loan);
}

// Enters a loan on a way that is not lost, and gives its seal; 0: it cannot be. The mutex is held.
static uint64_t enter_loan(leat_plane_t* plane, loan_t* loan) {
  if (!leat_word_map_get(&plane->ways, loan->way, NULL)) return 0;
  const uint64_t seal = ++plane->last_seal;
  leat_status_t status = leat_word_map_set(&plane->loans, seal, address_of(loan));
  const bool is_entered = !status;
  leat_status_free(status);
  atomic_init(&loan->seal, seal);
  return is_entered ? seal : 0;
}

bool leat_plane_lend(leat_plane_way_t* way, uint64_t call, leat_string_view_t head,
                     leat_string_view_t tail, leat_rpc_piece_t elements) {
  leat_plane_t* plane = way->plane;
  loan_t* loan;
  if (elements.size < LEAST_BYTES || !elements.release || plane->options.is_distant) return false;
  leat_status_t status = LEAT_ALLOCATE(plane->allocator, 1, &loan);
  if (status) {
    leat_status_free(status);
    return false;
  }
  loan->way = way->number;
  loan->elements = elements;
  leat_mutex_lock(&plane->mutex);
  const uint64_t seal = enter_loan(plane, loan);
  leat_mutex_unlock(&plane->mutex);
  if (!seal) {
    leat_allocator_free(plane->allocator, loan);
    return false;
  }
  // From here on another thread may take the loan back and free it.
  const leat_plane_frame_t frame = {.kind = LEAT_PLANE_LENT,
                                    .call = call,
                                    .seal_address = address_of(&loan->seal),
                                    .seal = seal,
                                    .elements = address_of(elements.data),
                                    .elements_bytes = elements.size};
  leat_plane_send(way, frame, head, tail, (leat_rpc_piece_t){0});
  return true;
}

// Takes a loan on the way |way| out of the table; NULL: there is none, or it is another way's. The
// mutex is held.
static loan_t* take_loan(leat_plane_t* plane, uint64_t way, uint64_t seal) {
  uint64_t found;
  if (!leat_word_map_get(&plane->loans, seal, &found)) return NULL;
  loan_t* loan = (loan_t*)(uintptr_t)found;
  if (loan->way != way) return NULL;
  leat_word_map_erase(&plane->loans, seal);
  return loan;
}

void leat_plane_take_back(leat_plane_t* plane, uint64_t way, uint64_t seal) {
  leat_mutex_lock(&plane->mutex);
  loan_t* loan = take_loan(plane, way, seal);
  leat_mutex_unlock(&plane->mutex);
  end_loan(plane, loan);
}

void leat_plane_take_back_all(leat_plane_t* plane, uint64_t way) {
  loan_t* loan;
  do {
    loan = NULL;
    leat_mutex_lock(&plane->mutex);
    for (size_t i = 0; i < plane->loans.capacity && !loan; ++i) {
      if (plane->loans.used[i]) loan = take_loan(plane, way, plane->loans.keys[i]);
    }
    leat_mutex_unlock(&plane->mutex);
    end_loan(plane, loan);
  } while (loan);
}

// ---- The receiver -------------------------------------------------------------------------------

typedef struct reading_s {
  int64_t process;
  const leat_plane_frame_t* frame;
  char* place;
  leat_mutex_t mutex;
  leat_status_t status;  // of a piece that could not be read; guarded by the mutex
} reading_t;

// A leat_shard_fn_t over pieces.
static void read_pieces(void* data, int64_t begin, int64_t end) {
  reading_t* reading = data;
  const size_t first = (size_t)begin * PIECE_BYTES;
  const size_t last = LEAT_MIN((size_t)end * PIECE_BYTES, (size_t)reading->frame->elements_bytes);
  leat_status_t status = leat_process_memory_read(
      reading->process, reading->frame->elements + first, reading->place + first, last - first);
  if (!status) return;
  leat_mutex_lock(&reading->mutex);
  leat_status_t former = reading->status;
  reading->status = status;
  leat_mutex_unlock(&reading->mutex);
  leat_status_free(former);
}

static leat_status_t read_elements(leat_plane_way_t* way, int64_t process,
                                   const leat_plane_frame_t* frame, void* place) {
  reading_t reading = {.process = process, .frame = frame, .place = place};
  const int64_t pieces = (int64_t)((frame->elements_bytes - 1) / PIECE_BYTES + 1);
  leat_mutex_initialize(&reading.mutex);
  leat_thread_pool_parallel_for(way->plane->options.pool, 0, pieces, PIECE_NS, read_pieces,
                                &reading);
  leat_mutex_deinitialize(&reading.mutex);
  return reading.status;
}

leat_status_t leat_plane_read_loan(leat_plane_way_t* way, const leat_plane_frame_t* frame,
                                   void* place) {
  const int64_t process = atomic_load(&way->process);
  uint64_t seal = 0;
  leat_status_t status = read_elements(way, process, frame, place);
  if (!status) {
    status = leat_process_memory_read(process, frame->seal_address, &seal, sizeof seal);
  }
  if (!status && seal != frame->seal) {
    status = leat_make_status(LEAT_UNAVAILABLE, "the other task has let them go");
  }
  if (!status) {
    atomic_fetch_add(&way->plane->read_count, 1);
    return leat_ok_status();
  }
  atomic_store(&way->process, 0);  // what is asked for from now on is sent
  leat_status_t told = leat_make_status(
      LEAT_UNAVAILABLE,
      "Receiving a value failed: its elements were not read from the memory of the other task: %s",
      leat_status_message(status));
  leat_status_free(status);
  return told;
}
