// CPU kernel of Mfcc: mel-frequency cepstral coefficients (Davis and Mermelstein, 1980).
//
//   spectrogram [channels, times, frequencies] of squared magnitudes
//     -> [channels, times, coefficients]
//
// For each spectrum:
//
//   energy[b] = sum over frequencies of magnitude * weight of the frequency in band b
//   out[i]    = sqrt(2 / bands) sum over b of cos(pi i (b + 1/2) / bands) log energy[b]
//
// The bands are triangles whose peaks lie at equal distances on the mel scale, which follows how
// people hear pitch. Each triangle begins and ends at the peaks of its neighbours, so that every
// frequency belongs to two bands: falling in one, rising in the next. The weights and cosines
// depend on sizes alone and are computed once for each call. The cosine transform makes the numbers
// nearly independent of each other; the first few describe the shape of the vocal tract.
#include <math.h>

#include "base/checked.h"
#include "kernel/step_check.h"
#include "ops/kernel_rows.h"

typedef struct options_s {
  float lower, upper;  // the limits of the frequencies, in Hz
  int64_t bands, coefficients;
} options_t;

// How one frequency is shared out: |weight| of its magnitude goes to |band|, whose peak it has
// passed, and the rest to the next band.
typedef struct share_s {
  double weight;
  int64_t band;  // -1 before the first peak
} share_t;

typedef struct mfcc_s {
  const options_t* options;
  int64_t length;       // the number of frequencies of a spectrum
  int64_t first, last;  // the frequencies between the limits
  share_t* shares;
  double* cosines;  // [coefficients, bands]
  double* energies;  // [bands]
} mfcc_t;

static leat_status_t create(leat_kernel_creation_t* c, void* state) {
  options_t* options = state;
  LEAT_RETURN_IF_ERROR(leat_kernel_attr_float(c, "lower_frequency_limit", &options->lower));
  LEAT_RETURN_IF_ERROR(leat_kernel_attr_float(c, "upper_frequency_limit", &options->upper));
  LEAT_RETURN_IF_ERROR(leat_kernel_attr_int(c, "filterbank_channel_count", &options->bands));
  return leat_kernel_attr_int(c, "dct_coefficient_count", &options->coefficients);
}

// INVALID_ARGUMENT unless spectrum, sample rate, limits and counts make sense together.
static leat_status_t check(const leat_kernel_context_t* c, int64_t length, int32_t rate) {
  const options_t* o = leat_kernel_state(c);
  if (length >= 2 && rate > 0 && o->lower >= 0 && o->upper > o->lower && o->coefficients >= 1 &&
      o->bands >= o->coefficients && o->bands < INT32_MAX - 1) {
    return leat_ok_status();
  }
  return leat_kernel_invalid(
      c,
      "Mfcc has a spectrum of %lld, a sample rate of %d, limits %g and %g, %lld bands and %lld "
      "coefficients; must have at least 2, more than 0, rising limits from 0 on, and as many bands "
      "as coefficients, at least 1",
      (long long)length, (int)rate, (double)o->lower, (double)o->upper, (long long)o->bands,
      (long long)o->coefficients);
}

// ---- Tables -------------------------------------------------------------------------------------

static double mel_of(double hertz) { return 1127 * log1p(hertz / 700); }

// Frequency i of the spectrum is i * |hertz_each|.
static void find_shares(mfcc_t* m, double hertz_each) {
  double low = mel_of((double)m->options->lower);
  double spacing = (mel_of((double)m->options->upper) - low) / (double)(m->options->bands + 1);
  int64_t next = 0;  // the first band whose peak has not been reached
  for (int64_t i = m->first; i <= m->last; ++i) {
    double mel = mel_of((double)i * hertz_each);
    while (next < m->options->bands && low + spacing * (double)(next + 1) < mel) ++next;
    double peak = low + spacing * (double)(next + 1);
    double before = next ? low + spacing * (double)next : low;
    m->shares[i] = (share_t){(peak - mel) / (peak - before), next - 1};
  }
}

static leat_status_t find_cosines(leat_step_pace_t* pace, mfcc_t* m) {
  int64_t bands = m->options->bands;
  double scale = sqrt(2.0 / (double)bands), angle = atan(1) * 4 / (double)bands;
  for (int64_t i = 0; i < m->options->coefficients; ++i) {
    LEAT_RETURN_IF_ERROR(leat_step_pace_count(pace, 20.0 * (double)bands));
    for (int64_t k = 0; k < bands; ++k) {
      m->cosines[i * bands + k] = scale * cos((double)i * angle * ((double)k + 0.5));
    }
  }
  return leat_ok_status();
}

// Allocates and fills the tables of |m| in |out_memory|, which the caller releases on success.
static leat_status_t make_tables(leat_kernel_context_t* c, leat_step_pace_t* pace, int32_t rate,
                                 mfcc_t* m, leat_tensor_t* out_memory) {
  int64_t numbers = 2 * m->length + (m->options->coefficients + 1) * m->options->bands;
  leat_shape_t shape = leat_shape_vector(numbers);
  LEAT_RETURN_IF_ERROR(leat_kernel_allocate_temporary(c, LEAT_DTYPE_DOUBLE, &shape, out_memory));
  m->shares = out_memory->data;
  m->cosines = (double*)(m->shares + m->length);
  m->energies = m->cosines + m->options->coefficients * m->options->bands;
  double hertz_each = 0.5 * (double)rate / (double)(m->length - 1);
  m->first = (int64_t)(1.5 + (double)m->options->lower / hertz_each);
  m->last = (int64_t)((double)m->options->upper / hertz_each);
  find_shares(m, hertz_each);
  leat_status_t status = find_cosines(pace, m);
  if (status) leat_tensor_release(out_memory);
  return status;
}

// ---- The kernel ---------------------------------------------------------------------------------

static void gather_energies(const mfcc_t* m, const float* spectrum) {
  memset(m->energies, 0, (size_t)m->options->bands * sizeof *m->energies);
  for (int64_t i = m->first; i <= m->last; ++i) {
    double magnitude = sqrt((double)spectrum[i]), part = magnitude * m->shares[i].weight;
    int64_t band = m->shares[i].band;
    if (band >= 0) m->energies[band] += part;
    if (band + 1 < m->options->bands) m->energies[band + 1] += magnitude - part;
  }
}

// Computes the coefficients of one spectrum. Energies are at least 1e-12, so that logarithms are
// finite.
static void compute_row(const mfcc_t* m, const float* spectrum, float* to) {
  int64_t bands = m->options->bands;
  gather_energies(m, spectrum);
  for (int64_t k = 0; k < bands; ++k) {
    m->energies[k] = log(m->energies[k] < 1e-12 ? 1e-12 : m->energies[k]);
  }
  for (int64_t i = 0; i < m->options->coefficients; ++i) {
    double sum = 0;
    for (int64_t k = 0; k < bands; ++k) sum += m->cosines[i * bands + k] * m->energies[k];
    to[i] = (float)sum;
  }
}

static leat_status_t mfcc__cpu(leat_kernel_context_t* c) {
  const leat_tensor_t* spectrogram = leat_kernel_input(c, 0);
  const int64_t* dims = leat_shape_dims(&spectrogram->shape);
  int32_t rate = *leat_tensor_data(leat_kernel_input(c, 1), const int32_t);
  mfcc_t m = {.options = leat_kernel_state(c), .length = dims[2]};
  leat_tensor_t *output, memory;
  LEAT_RETURN_IF_ERROR(check(c, m.length, rate));
  int64_t coefficients = m.options->coefficients;
  LEAT_RETURN_IF_ERROR(
      leat_kernel_allocate_sized(c, 0, 3, (int64_t[]){dims[0], dims[1], coefficients}, &output));
  double last = (double)m.options->upper / (0.5 * (double)rate / (double)(m.length - 1));
  // Where the upper limit lies beyond the spectrum, TensorFlow gives zeros.
  if (!(last < (double)m.length)) {
    leat_tensor_fill_zero(output);
    return leat_ok_status();
  }
  leat_step_pace_t pace = leat_step_pace_of(c);
  double row_ns = (double)coefficients * (double)m.options->bands + 20.0 * (double)m.length;
  LEAT_RETURN_IF_ERROR(make_tables(c, &pace, rate, &m, &memory));
  leat_status_t status = leat_ok_status();
  for (int64_t row = 0; row < dims[0] * dims[1] && !status; ++row) {
    status = leat_step_pace_count(&pace, row_ns);
    compute_row(&m, leat_tensor_data(spectrogram, const float) + row * m.length,
                leat_tensor_data(output, float) + row * coefficients);
  }
  leat_tensor_release(&memory);
  return status;
}

const leat_kernel_row_t leat_mfcc_kernels_cpu[] = {
    LEAT_CPU_KERNEL("Mfcc", NULL, options_t, create, mfcc__cpu),
    LEAT_KERNEL_ROWS_END,
};
