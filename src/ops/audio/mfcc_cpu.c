// CPU kernel of mel-frequency cepstral coefficients (Davis and Mermelstein 1980). A spectrum's
// magnitudes are gathered in bands that are triangles, equally wide on the mel scale: a frequency
// belongs to two of them. Of the bands' logarithms comes a cosine transform.
#include <math.h>

#include "base/checked.h"
#include "ops/kernel_rows.h"

typedef struct options_s {
  float lower, upper;  // in Hz
  int64_t bands, coefficients;
} options_t;

// What one frequency gives: |weight| of it to the band that it is behind the peak of, the rest to
// the next one.
typedef struct share_s {
  double weight;
  int64_t band;  // -1: none
} share_t;

typedef struct mfcc_s {
  const options_t* options;
  int64_t length;       // of a spectrum
  int64_t first, last;  // frequencies that count; none where the upper limit is beyond the spectrum
  share_t* shares;
  double* cosines;  // [coefficients, bands]
  double* energies;
} mfcc_t;

static leat_status_t create(leat_kernel_creation_t* c, void* state) {
  options_t* options = state;
  LEAT_RETURN_IF_ERROR(leat_kernel_attr_float(c, "lower_frequency_limit", &options->lower));
  LEAT_RETURN_IF_ERROR(leat_kernel_attr_float(c, "upper_frequency_limit", &options->upper));
  LEAT_RETURN_IF_ERROR(leat_kernel_attr_int(c, "filterbank_channel_count", &options->bands));
  return leat_kernel_attr_int(c, "dct_coefficient_count", &options->coefficients);
}

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

static void find_shares(mfcc_t* m, double hertz_each) {
  double low = mel_of((double)m->options->lower);
  double spacing = (mel_of((double)m->options->upper) - low) / (double)(m->options->bands + 1);
  int64_t next = 0;  // the band whose peak is not yet reached
  for (int64_t i = m->first; i <= m->last; ++i) {
    double mel = mel_of((double)i * hertz_each);
    while (next < m->options->bands && low + spacing * (double)(next + 1) < mel) ++next;
    double peak = low + spacing * (double)(next + 1);
    double before = next ? low + spacing * (double)next : low;
    m->shares[i] = (share_t){(peak - mel) / (peak - before), next - 1};
  }
}

static void find_cosines(mfcc_t* m) {
  int64_t bands = m->options->bands;
  double scale = sqrt(2.0 / (double)bands), angle = atan(1) * 4 / (double)bands;
  for (int64_t i = 0; i < m->options->coefficients; ++i) {
    for (int64_t k = 0; k < bands; ++k) {
      m->cosines[i * bands + k] = scale * cos((double)i * angle * ((double)k + 0.5));
    }
  }
}

// |m| without its tables has none of the frequencies.
static leat_status_t make_tables(leat_kernel_context_t* c, int32_t rate, mfcc_t* m,
                                 leat_tensor_t* out_memory) {
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
  find_cosines(m);
  return leat_ok_status();
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
  // Beyond the spectrum TensorFlow gives nothing but zeros.
  if (!(last < (double)m.length)) {
    leat_tensor_fill_zero(output);
    return leat_ok_status();
  }
  LEAT_RETURN_IF_ERROR(make_tables(c, rate, &m, &memory));
  for (int64_t row = 0; row < dims[0] * dims[1]; ++row) {
    compute_row(&m, leat_tensor_data(spectrogram, const float) + row * m.length,
                leat_tensor_data(output, float) + row * coefficients);
  }
  leat_tensor_release(&memory);
  return leat_ok_status();
}

const leat_kernel_row_t leat_mfcc_kernels_cpu[] = {
    LEAT_CPU_KERNEL("Mfcc", NULL, options_t, create, mfcc__cpu),
    LEAT_KERNEL_ROWS_END,
};
