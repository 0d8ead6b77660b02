// Strided copies (strided_cpu.h): this file chooses the plane, which is the two dimensions that an
// inner loop of strided_isa_avx2.c covers, and walks the other dimensions.
//
// After neighbouring dimensions were merged, the innermost one is of one of three kinds, and each
// has its loop:
//
//   step 1 on both sides                           runs of bytes (memcpy)
//   step 1 in the target, and another dimension    a transposition, done in square blocks; that
//   has step 1 in the source                       dimension becomes the other one of the plane
//   anything else                                  element by element
//
// The work is cut into items, which are pieces of planes, numbered in the order of the outer
// dimensions. A plane is cut by its rows, or along its rows where they are long or transposed. One
// long run and many short ones are therefore shared out alike among the threads. Every item writes
// a part of the target that no other item writes, so that the threads need no locks.
#include "ops/array/strided_cpu.h"

#include "base/checked.h"
#include "kernel/step_check.h"
#include "ops/array/index_cpu.h"
#include "ops/array/strided_isa.h"

// Nanoseconds: the first for each byte that a core moves from and to memory, the second besides for
// each element that is not moved as a part of a run.
#define COST_OF_BYTE 0.06
#define COST_OF_STRAY_ELEMENT 0.6
// A transposed plane is cut along its rows into pieces of TRANSPOSED_COLUMNS elements, and where a
// row has fewer than FEW_COLUMNS into pieces of a quarter of that, so that all threads have work.
// A transposition with a side shorter than MIN_TRANSPOSED_SIDE is done element by element.
#define TRANSPOSED_COLUMNS 256
#define FEW_COLUMNS 1024
#define MIN_TRANSPOSED_SIDE 4
// A row of at least LONG_ROW_BYTES is cut too, into pieces of PIECE_ELEMENTS.
#define LONG_ROW_BYTES (1 << 18)
#define PIECE_ELEMENTS (1 << 14)

leat_status_t leat_strided_begin_output(leat_strided_t* s, leat_kernel_context_t* c,
                                        const leat_shape_t* shape, leat_tensor_t** out_output,
                                        int64_t* out_from, int64_t* out_to) {
  const leat_tensor_t* input = leat_kernel_input(c, 0);
  leat_strided_begin(s, input->dtype);
  leat_shape_strides(&input->shape, out_from);
  leat_shape_strides(shape, out_to);
  return leat_kernel_allocate_output(c, 0, shape, out_output);
}

// The dimension is merged with the one added before it where the two form one run of equal steps on
// both sides. A dimension of size 1 moves nothing and is left out.
void leat_strided_add(leat_strided_t* s, int64_t size, int64_t to_stride, int64_t from_stride) {
  if (size == 1) return;
  if (size == 0) s->is_empty = true;
  int last = s->rank - 1;
  if (last >= 0 && s->to_strides[last] == size * to_stride &&
      s->from_strides[last] == size * from_stride) {
    s->sizes[last] *= size;
    s->to_strides[last] = to_stride;
    s->from_strides[last] = from_stride;
    return;
  }
  LEAT_DCHECK(s->rank < LEAT_STRIDED_MAX_RANK);
  s->sizes[s->rank] = size;
  s->to_strides[s->rank] = to_stride;
  s->from_strides[s->rank] = from_stride;
  ++s->rank;
}

// Moves |index| to the next place of the first |rank| dimensions, and |from_at| and |to_at| to its
// offsets. Returns false after the last place, where all three are back at the first one.
static bool step_on(const leat_strided_t* s, int rank, int64_t* index, int64_t* from_at,
                    int64_t* to_at) {
  for (int d = rank - 1; d >= 0; --d) {
    *from_at += s->from_strides[d];
    *to_at += s->to_strides[d];
    if (++index[d] < s->sizes[d]) return true;
    *from_at -= s->sizes[d] * s->from_strides[d];
    *to_at -= s->sizes[d] * s->to_strides[d];
    index[d] = 0;
  }
  return false;
}

// ---- Objects ------------------------------------------------------------------------------------

// So many objects are copied between two looks whether the step is to end.
#define OBJECTS_A_CHECK 4096

// Fails when the step was told to end, unless the copy must be completed.
static leat_status_t check_step(const leat_kernel_context_t* c, const leat_strided_t* s) {
  return s->is_unbroken ? leat_ok_status() : leat_step_check(c->services, true);
}

// Copies the objects of the last dimension.
static leat_status_t copy_object_row(const leat_kernel_context_t* c, const leat_strided_t* s,
                                     const char* from, char* to) {
  int last = s->rank - 1;
  if (s->to_strides[last] == 1 && s->from_strides[last] == 1) {
    return leat_tensor_copy_elements(s->dtype, from, to, s->sizes[last]);
  }
  for (int64_t i = 0; i < s->sizes[last]; ++i) {
    if (i % OBJECTS_A_CHECK == OBJECTS_A_CHECK - 1) LEAT_RETURN_IF_ERROR(check_step(c, s));
    LEAT_RETURN_IF_ERROR(leat_tensor_copy_elements(
        s->dtype, leat_element_at(from, s->dtype, i * s->from_strides[last]),
        leat_element_at(to, s->dtype, i * s->to_strides[last]), 1));
  }
  return leat_ok_status();
}

static leat_status_t copy_objects(const leat_kernel_context_t* c, const leat_strided_t* s,
                                  const char* from, char* to) {
  int64_t index[LEAT_STRIDED_MAX_RANK];
  for (int d = 0; d < s->rank; ++d) index[d] = 0;
  int64_t from_at = 0, to_at = 0;
  const int64_t row = s->sizes[s->rank - 1];
  for (int64_t copied = 0;; copied += row) {
    if (copied > OBJECTS_A_CHECK) {
      LEAT_RETURN_IF_ERROR(check_step(c, s));
      copied = 0;
    }
    LEAT_RETURN_IF_ERROR(copy_object_row(c, s, leat_element_at(from, s->dtype, from_at),
                                         leat_element_at(to, s->dtype, to_at)));
    if (!step_on(s, s->rank - 1, index, &from_at, &to_at)) return leat_ok_status();
  }
}

// ---- Plain elements -----------------------------------------------------------------------------

typedef void (*plane_fn_t)(const leat_strided_plane_t* plane, const char* from, char* to);

typedef struct job_s {
  const leat_strided_t* block;  // its first |outer_rank| dimensions are walked
  int outer_rank;
  int64_t width;                // bytes of an element
  leat_strided_plane_t plane;
  plane_fn_t fn;
  bool is_runs;                 // |plane| counts bytes, not elements
  const char* from;
  char* to;
  int64_t piece;   // how much of the plane's inner size an item covers; 0: an item is one row
  int64_t pieces;  // items of a plane
} job_t;

static int width_index(int64_t width) { return __builtin_ctzll((uint64_t)width); }

// Makes the last dimension one element of up to 16 bytes where the strides of all other dimensions
// are multiples of it, so that the loops make fewer and longer moves. Returns the bytes of an
// element.
static int64_t widen(leat_strided_t* s, int64_t width) {
  int last = s->rank - 1;
  if (s->rank < 2 || s->to_strides[last] != 1 || s->from_strides[last] != 1) return width;
  int64_t run = s->sizes[last] * width;
  if (run > 16 || (run & (run - 1))) return width;
  for (int d = 0; d < last; ++d) {
    if (s->to_strides[d] % s->sizes[last] || s->from_strides[d] % s->sizes[last]) return width;
  }
  for (int d = 0; d < last; ++d) {
    s->to_strides[d] /= s->sizes[last];
    s->from_strides[d] /= s->sizes[last];
  }
  s->rank = last;
  return run;
}

// Moves dimension |d| inwards, so that it becomes the last but one.
static void move_dim_before_last(leat_strided_t* s, int d) {
  int64_t size = s->sizes[d], to = s->to_strides[d], from = s->from_strides[d];
  for (; d < s->rank - 2; ++d) {
    s->sizes[d] = s->sizes[d + 1];
    s->to_strides[d] = s->to_strides[d + 1];
    s->from_strides[d] = s->from_strides[d + 1];
  }
  s->sizes[d] = size;
  s->to_strides[d] = to;
  s->from_strides[d] = from;
}

// Returns a dimension whose elements are neighbours in the source, while those of the last
// dimension are neighbours in the target; -1 if there is none, or a side is too short to pay.
static int find_transposed(const leat_strided_t* s) {
  int last = s->rank - 1;
  if (s->to_strides[last] != 1 || s->from_strides[last] <= 1) return -1;
  if (s->sizes[last] < MIN_TRANSPOSED_SIDE) return -1;
  for (int d = last - 1; d >= 0; --d) {
    if (s->from_strides[d] == 1 && s->to_strides[d] > 1 && s->sizes[d] >= MIN_TRANSPOSED_SIDE) {
      return d;
    }
  }
  return -1;
}

// Makes the last dimension of |s| the rows of the plane, and dimension |before| the order of the
// rows; -1 for |before| gives a plane of one row.
static void set_plane(const leat_strided_t* s, int before, job_t* job) {
  int last = s->rank - 1;
  job->plane = (leat_strided_plane_t){.count = 1,
                                      .inner = s->sizes[last],
                                      .to_inner = s->to_strides[last],
                                      .from_inner = s->from_strides[last]};
  if (before >= 0) {
    job->plane.count = s->sizes[before];
    job->plane.to_step = s->to_strides[before];
    job->plane.from_step = s->from_strides[before];
  }
}

// Chooses the plane, its loop, and how it is cut into pieces. |s| has at least one dimension, and
// is reordered where the copy is a transposition.
static void choose_plane(leat_strided_t* s, job_t* job) {
  const leat_strided_loops_t* loops = LEAT_ISA_SELECT_AVX2(leat_strided_loops);
  int width = width_index(job->width);
  int transposed = find_transposed(s);
  if (transposed >= 0) move_dim_before_last(s, transposed);
  int last = s->rank - 1;
  bool is_long = transposed < 0 && s->sizes[last] * job->width >= LONG_ROW_BYTES;
  set_plane(s, is_long ? -1 : last - 1, job);
  job->outer_rank = is_long ? last : LEAT_MAX(last - 1, 0);
  job->fn = transposed >= 0 ? loops->transposed[width] : loops->elements[width];
  int64_t columns = s->sizes[last] < FEW_COLUMNS ? TRANSPOSED_COLUMNS / 4 : TRANSPOSED_COLUMNS;
  job->piece = transposed >= 0 ? columns : is_long ? PIECE_ELEMENTS : 0;
  leat_strided_plane_t* p = &job->plane;
  if (transposed < 0 && p->to_inner == 1 && p->from_inner == 1) {
    job->is_runs = true;
    job->fn = loops->runs;
    p->inner *= job->width;
    p->to_step *= job->width;
    p->from_step *= job->width;
    job->piece *= job->width;
  }
  job->pieces = job->piece ? (p->inner + job->piece - 1) / job->piece : p->count;
}

// Copies pieces [begin, end) of the plane whose first element is at |from| and goes to |to|.
static void run_plane(const job_t* job, int64_t begin, int64_t end, const char* from, char* to) {
  leat_strided_plane_t plane = job->plane;
  int64_t unit = job->is_runs ? 1 : job->width;
  if (job->piece) {
    from += begin * job->piece * plane.from_inner * unit;
    to += begin * job->piece * plane.to_inner * unit;
    plane.inner = LEAT_MIN(end * job->piece, plane.inner) - begin * job->piece;
  } else {
    from += begin * plane.from_step * unit;
    to += begin * plane.to_step * unit;
    plane.count = end - begin;
  }
  job->fn(&plane, from, to);
}

// Copies items [begin, end). Item i is piece i % |pieces| of plane i / |pieces|.
static void run_items(void* data, int64_t begin, int64_t end) {
  const job_t* job = data;
  const leat_strided_t* s = job->block;
  int64_t index[LEAT_STRIDED_MAX_RANK];
  int64_t from_at = 0, to_at = 0, rest = begin / job->pieces;
  for (int d = job->outer_rank - 1; d >= 0; --d) {
    index[d] = rest % s->sizes[d];
    rest /= s->sizes[d];
    from_at += index[d] * s->from_strides[d];
    to_at += index[d] * s->to_strides[d];
  }
  int64_t piece = begin % job->pieces;
  while (begin < end) {
    int64_t piece_end = LEAT_MIN(job->pieces, piece + (end - begin));
    run_plane(job, piece, piece_end, job->from + from_at * job->width,
              job->to + to_at * job->width);
    begin += piece_end - piece;
    piece = 0;
    step_on(s, job->outer_rank, index, &from_at, &to_at);
  }
}

// One long run that several threads copy: its bytes are the items.
typedef struct run_s {
  const char* from;
  char* to;
} run_t;
static void copy_run(void* data, int64_t begin, int64_t end) {
  const run_t* run = data;
  memcpy(run->to + begin, run->from + begin, (size_t)(end - begin));
}

// Runs |fn| over [0, total) on the step's pool; all of it where the copy must be completed.
static void share_out(const leat_kernel_context_t* c, const leat_strided_t* s, int64_t total,
                      double cost_ns, leat_shard_fn_t fn, void* data) {
  if (s->is_unbroken) {
    leat_kernel_parallel_for_unbroken(c, total, cost_ns, fn, data);
  } else {
    leat_kernel_parallel_for(c, total, cost_ns, fn, data);
  }
}

static void copy_plain(const leat_kernel_context_t* c, leat_strided_t* s, const char* from,
                       char* to) {
  job_t job = {.block = s, .from = from, .to = to};
  job.width = widen(s, (int64_t)leat_dtype_size(s->dtype));
  if (s->rank == 1 && s->to_strides[0] == 1 && s->from_strides[0] == 1) {
    run_t run = {from, to};
    share_out(c, s, s->sizes[0] * job.width, COST_OF_BYTE, copy_run, &run);
    return;
  }
  choose_plane(s, &job);
  int64_t items = job.pieces;
  for (int d = 0; d < job.outer_rank; ++d) items *= s->sizes[d];
  double elements = 1;
  for (int d = 0; d < s->rank; ++d) elements *= (double)s->sizes[d];
  bool is_stray = !job.is_runs && (job.plane.from_inner > 1 || job.plane.to_inner != 1);
  double cost = elements * (double)job.width * COST_OF_BYTE;
  if (is_stray) cost += elements * COST_OF_STRAY_ELEMENT;
  share_out(c, s, items, cost / (double)items, run_items, &job);
}

leat_status_t leat_strided_copy(const leat_kernel_context_t* c, leat_strided_t* s,
                                const void* from, void* to) {
  if (s->is_empty) return leat_ok_status();
  if (s->rank == 0) return leat_tensor_copy_elements(s->dtype, from, to, 1);
  if (leat_dtype_is_object(s->dtype)) return copy_objects(c, s, from, to);
  copy_plain(c, s, from, to);
  return leat_ok_status();
}

leat_status_t leat_strided_copy_runs(const leat_kernel_context_t* c, int dtype, int64_t count,
                                     int64_t run, const void* from, int64_t from_stride, void* to,
                                     int64_t to_stride) {
  leat_strided_t block;
  leat_strided_begin(&block, dtype);
  leat_strided_add(&block, count, to_stride, from_stride);
  leat_strided_add(&block, run, 1, 1);
  return leat_strided_copy(c, &block, from, to);
}
