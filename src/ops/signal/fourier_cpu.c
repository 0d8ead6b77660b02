// CPU kernels of the Fourier transforms (fourier.c). Lines are transformed by leat_transform_t
// (transform_cpu.h), which takes any length; this file brings elements to it and back.
//
// The elements of the last one, two or three dimensions of a batch entry are a block, which is
// copied to doubles, transformed line by line along each of its dimensions, and copied out. Blocks
// are independent of each other, so that threads share them; each range of blocks has memory of its
// own. A half transform is of a block whose last size is m / 2 + 1:
//
//   RFFT    the whole block is transformed, and one half is copied out
//   IRFFT   all dimensions of the half but the last are transformed; then each line of the last is
//           completed by the conjugates, transformed, and its real parts are copied out
#include <math.h>

#include "base/checked.h"
#include "kernel/step_check.h"
#include "ops/kernel_rows.h"
#include "ops/signal/transform_cpu.h"

enum { MAX_DIMS = 3 };
#define NS_PER_COPY 10.0  // of an element, in and out
#define NS_PER_STAGE 2.0  // and element: a transform has the logarithm of its size of them

typedef struct fourier_s {
  int rank;
  bool inverse, half;  // half: the input or the output is half of a transform
} fourier_t;

// The work on one tensor.
typedef struct job_s {
  const fourier_t* own;
  const leat_tensor_t* input;
  leat_tensor_t* output;
  int64_t lengths[MAX_DIMS];  // of the whole transform
  int64_t read[MAX_DIMS], written[MAX_DIMS];  // sizes of what is copied in and out
  int64_t from[MAX_DIMS], to[MAX_DIMS];  // sizes of a block of the input and of the output
  leat_transform_t* plans[MAX_DIMS];
  int64_t line_size, scratch_size;  // for the longest dimension
  _Atomic bool is_out_of_memory;
} job_t;

// What the thread that transforms a block needs.
typedef struct memory_s {
  leat_complex_t *block, *line, *scratch;
} memory_t;

static int64_t product(const int64_t* sizes, int rank) {
  int64_t count = 1;
  for (int d = 0; d < rank; ++d) count *= sizes[d];
  return count;
}

static leat_status_t create(leat_kernel_creation_t* c, void* state) {
  fourier_t* own = state;
  leat_string_view_t name = c->kernel->op->name;  // "FFT", "IRFFT2D"
  own->inverse = name.data[0] == 'I';
  own->half = name.data[own->inverse] == 'R';
  own->rank = name.data[name.size - 1] == 'D' ? name.data[name.size - 2] - '0' : 1;
  return leat_ok_status();
}

// ---- Elements -----------------------------------------------------------------------------------

static leat_complex_t load(const leat_tensor_t* tensor, int64_t i) {
  switch (tensor->dtype) {
    case LEAT_DTYPE_FLOAT: return (leat_complex_t){leat_tensor_data(tensor, const float)[i], 0};
    case LEAT_DTYPE_DOUBLE: return (leat_complex_t){leat_tensor_data(tensor, const double)[i], 0};
    case LEAT_DTYPE_COMPLEX64: {
      const float* pair = leat_tensor_data(tensor, const float) + 2 * i;
      return (leat_complex_t){pair[0], pair[1]};
    }
    default: {
      const double* pair = leat_tensor_data(tensor, const double) + 2 * i;
      return (leat_complex_t){pair[0], pair[1]};
    }
  }
}

static void store(leat_tensor_t* tensor, int64_t i, leat_complex_t value) {
  switch (tensor->dtype) {
    case LEAT_DTYPE_FLOAT: leat_tensor_data(tensor, float)[i] = (float)value.re; break;
    case LEAT_DTYPE_DOUBLE: leat_tensor_data(tensor, double)[i] = value.re; break;
    case LEAT_DTYPE_COMPLEX64: {
      float* pair = leat_tensor_data(tensor, float) + 2 * i;
      pair[0] = (float)value.re;
      pair[1] = (float)value.im;
      break;
    }
    default: {
      double* pair = leat_tensor_data(tensor, double) + 2 * i;
      pair[0] = value.re;
      pair[1] = value.im;
    }
  }
}

// The place of element |i| of a box of |box| sizes in an array of |sizes|.
static int64_t place_in(const int64_t* box, const int64_t* sizes, int rank, int64_t i) {
  int64_t place = 0, stride = 1;
  for (int d = rank - 1; d >= 0; --d) {
    place += i % box[d] * stride;
    stride *= sizes[d];
    i /= box[d];
  }
  return place;
}

// ---- Blocks -------------------------------------------------------------------------------------

// Says about every 8192 elements, before the |count| ones from |i| on, whether the step has been
// cancelled or is past its deadline. What the block holds does not matter then.
static bool is_over(int64_t i, int64_t count) {
  return i % 8192 < count && leat_step_loop_is_over();
}

// The sizes of the block: of the half for IRFFT, else of the whole.
static const int64_t* block_sizes(const job_t* j) {
  return j->own->half && j->own->inverse ? j->read : j->lengths;
}

// Transforms all lines of the block along dimension |d|.
static void transform_lines(const job_t* j, const memory_t* m, int d) {
  const int64_t* sizes = block_sizes(j);
  int64_t n = sizes[d], stride = product(sizes + d + 1, j->own->rank - d - 1);
  int64_t lines = n ? product(sizes, j->own->rank) / n : 0;
  for (int64_t k = 0; k < lines && !is_over(k * n, n); ++k) {
    leat_complex_t* first = m->block + k / stride * stride * n + k % stride;
    for (int64_t i = 0; i < n; ++i) m->line[i] = first[i * stride];
    leat_transform_run(j->plans[d], j->own->inverse, m->line, m->scratch);
    for (int64_t i = 0; i < n; ++i) first[i * stride] = m->line[i];
  }
}

// Completes each line of the last dimension of the half, and writes the real numbers.
static void write_real(const job_t* j, const memory_t* m, int64_t begin) {
  int rank = j->own->rank;
  int64_t half = j->read[rank - 1], n = j->lengths[rank - 1];
  int64_t lines = product(j->lengths, rank - 1);
  for (int64_t k = 0; k < lines; ++k) {
    const leat_complex_t* from = m->block + k * half;
    for (int64_t i = 0; i < n; ++i) {
      bool is_mirrored = i >= half;
      leat_complex_t value = from[is_mirrored ? n - i : i];
      if (is_mirrored) value.im = -value.im;
      if (i == 0 || 2 * i == n) value.im = 0;
      m->line[i] = value;
    }
    leat_transform_run(j->plans[rank - 1], true, m->line, m->scratch);
    for (int64_t i = 0; i < n; ++i) store(j->output, begin + k * n + i, m->line[i]);
  }
}

static void run_block(const job_t* j, const memory_t* m, int64_t index) {
  int rank = j->own->rank;
  bool completes = j->own->half && j->own->inverse;
  int64_t count = product(j->read, rank), begin = index * product(j->from, rank);
  for (int64_t i = 0; i < count && !is_over(i, 1); ++i) {
    m->block[i] = load(j->input, begin + place_in(j->read, j->from, rank, i));
  }
  for (int d = 0; d < rank - completes; ++d) transform_lines(j, m, d);
  begin = index * product(j->to, rank);
  if (completes) {
    write_real(j, m, begin);
    return;
  }
  count = product(j->written, rank);
  for (int64_t i = 0; i < count && !is_over(i, 1); ++i) {
    store(j->output, begin + i, m->block[place_in(j->written, j->lengths, rank, i)]);
  }
}

static void run_blocks(void* data, int64_t begin, int64_t end) {
  job_t* j = data;
  leat_complex_t* all;
  size_t block = (size_t)product(j->lengths, j->own->rank), line = (size_t)j->line_size;
  leat_status_t status =
      LEAT_ALLOCATE(leat_allocator_system(), block + line + (size_t)j->scratch_size, &all);
  if (status) {
    leat_status_free(status);
    j->is_out_of_memory = true;
    return;
  }
  memory_t memory = {all, all + block, all + block + line};
  for (int64_t i = begin; i < end; ++i) run_block(j, &memory, i);
  leat_allocator_free(leat_allocator_system(), all);
}

// ---- Kernels ------------------------------------------------------------------------------------

// Reads fft_length, or where there is none the sizes of the input, and derives all sizes.
static leat_status_t find_sizes(leat_kernel_context_t* c, job_t* j) {
  const leat_shape_t* shape = &j->input->shape;
  int rank = j->own->rank;
  const leat_tensor_t* lengths = j->own->half ? leat_kernel_input(c, 1) : NULL;
  if (shape->rank < rank) {
    return leat_kernel_invalid(c, "Input must have rank of at least %d but got: %s", rank,
                               LEAT_SHAPE_TEXT(shape));
  }
  if (lengths && (lengths->shape.rank != 1 || lengths->shape.element_count != rank)) {
    return leat_kernel_invalid(c, "fft_length must have shape [%d], but has shape %s", rank,
                               LEAT_SHAPE_TEXT(&lengths->shape));
  }
  for (int d = 0; d < rank; ++d) {
    j->from[d] = leat_shape_dim(shape, shape->rank - rank + d);
    j->lengths[d] = lengths ? leat_tensor_index_at(lengths, d) : j->from[d];
    if (j->lengths[d] < 0) {
      return leat_kernel_invalid(c, "fft_length[%d] must >= 0, but got: %lld", d,
                                 (long long)j->lengths[d]);
    }
    bool is_half = j->own->half && d == rank - 1;
    int64_t half = j->lengths[d] ? j->lengths[d] / 2 + 1 : 0;
    j->read[d] = is_half && j->own->inverse ? half : j->lengths[d];
    j->written[d] = is_half && !j->own->inverse ? half : j->lengths[d];
    j->to[d] = j->written[d];
    // A dimension without elements has nothing that could be too short.
    if (j->from[d] < j->read[d] && j->from[d] > 0) {
      return leat_kernel_invalid(c, "Input dimension %d must have length of at least %lld but got: "
                                 "%lld", shape->rank - rank + d, (long long)j->read[d],
                                 (long long)j->from[d]);
    }
  }
  return leat_ok_status();
}

static leat_status_t allocate_output(leat_kernel_context_t* c, job_t* j) {
  const leat_shape_t* input = &j->input->shape;
  int64_t dims[LEAT_SHAPE_MAX_RANK];
  for (int d = 0; d < input->rank; ++d) {
    int place = d - (input->rank - j->own->rank);
    dims[d] = place < 0 ? leat_shape_dim(input, d) : j->to[place];
  }
  leat_shape_t shape;
  LEAT_RETURN_IF_ERROR(leat_shape_create(input->rank, dims, &shape));
  leat_status_t status = leat_kernel_allocate_output(c, 0, &shape, &j->output);
  leat_shape_release(&shape);
  return status;
}

static leat_status_t make_plans(job_t* j) {
  for (int d = 0; d < j->own->rank; ++d) {
    LEAT_RETURN_IF_ERROR(leat_transform_create(j->lengths[d], &j->plans[d]));
    j->scratch_size = LEAT_MAX(j->scratch_size, leat_transform_scratch(j->plans[d]));
    j->line_size = LEAT_MAX(j->line_size, j->lengths[d]);
  }
  return leat_ok_status();
}

static leat_status_t fourier__cpu(leat_kernel_context_t* c) {
  job_t j = {.own = leat_kernel_state(c), .input = leat_kernel_input(c, 0)};
  LEAT_RETURN_IF_ERROR(find_sizes(c, &j));
  LEAT_RETURN_IF_ERROR(allocate_output(c, &j));
  if (j.output->shape.element_count == 0) return leat_ok_status();
  if (j.input->shape.element_count == 0) {
    leat_tensor_fill_zero(j.output);
    return leat_ok_status();
  }
  leat_status_t status = make_plans(&j);
  if (!status) {
    double size = (double)product(j.lengths, j.own->rank);
    leat_kernel_parallel_for(c, j.output->shape.element_count / product(j.to, j.own->rank),
                             size * (NS_PER_COPY + NS_PER_STAGE * log2(size)), run_blocks, &j);
    if (j.is_out_of_memory) {
      status = leat_kernel_error(c, LEAT_RESOURCE_EXHAUSTED, "no memory for the transform");
    }
  }
  for (int d = 0; d < MAX_DIMS; ++d) leat_transform_free(j.plans[d]);
  return status;
}

#define KERNEL(op_name, types) LEAT_CPU_KERNEL(op_name, types, fourier_t, create, fourier__cpu)
#define COMPLEX(op_name)                       \
  KERNEL(op_name, "Tcomplex: complex64"),      \
  KERNEL(op_name, "Tcomplex: complex128")
#define REAL(op_name)                                         \
  KERNEL(op_name, "Treal: float; Tcomplex: complex64"),       \
  KERNEL(op_name, "Treal: double; Tcomplex: complex128")

const leat_kernel_row_t leat_fourier_kernels_cpu[] = {
    COMPLEX("FFT"),  COMPLEX("FFT2D"),  COMPLEX("FFT3D"),  COMPLEX("IFFT"),
    COMPLEX("IFFT2D"), COMPLEX("IFFT3D"), REAL("RFFT"),    REAL("RFFT2D"),
    REAL("RFFT3D"),  REAL("IRFFT"),     REAL("IRFFT2D"),   REAL("IRFFT3D"),
    LEAT_KERNEL_ROWS_END,
};
