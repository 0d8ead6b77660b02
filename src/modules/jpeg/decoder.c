// libjpeg's decoder: a whole image, one made smaller, or a window of it, as grey or RGB. libjpeg
// writes rows right into the target, but for two cases that go through a buffer of one row: CMYK
// files, whose four colours become three here, and windows, which libjpeg can only begin at the
// borders of its blocks.
//
// A file that ends early: libjpeg asks for more bytes. Where the caller wants such files, it is
// given an end marker, and rows that are missing then repeat the last one; else the rest stays
// black, which is an error unless the caller accepts the fraction of rows that is there.
#include "modules/jpeg/jpeg_codec.h"

#include <jerror.h>
#include <stdlib.h>
#include <string.h>

// No image has more bytes.
#define MOST_BYTES ((int64_t)1 << 31)

// |source| is first: libjpeg gives its address to the functions below.
typedef struct decoder_s {
  struct jpeg_source_mgr source;
  struct jpeg_decompress_struct jpeg;
  leat_jpeg_errors_t errors;
  const leat_jpeg_file_t* file;
  const leat_image_target_t* target;
  bool has_ended;  // an end marker was made up
  int components;  // that libjpeg gives: 1, 3, or 4 for CMYK
  leat_image_size_t size;
  JDIMENSION skipped;  // pixels to the left of the window that libjpeg gives nevertheless
  uint8_t* pixels;
  uint8_t* row;  // a buffer, where one is needed
  int64_t read;  // rows
  int code;      // of an error from here on
} decoder_t;

// ---- The source of bytes ------------------------------------------------------------------------

static void begin(j_decompress_ptr jpeg) {}
static void end(j_decompress_ptr jpeg) {}

// FALSE makes libjpeg give no more rows.
static boolean fill(j_decompress_ptr jpeg) {
  static const JOCTET kEnd[] = {0xff, JPEG_EOI};
  decoder_t* d = (decoder_t*)jpeg->src;
  if (d->has_ended || !d->file->recover_truncated) return FALSE;
  d->has_ended = true;
  d->source.next_input_byte = kEnd;
  d->source.bytes_in_buffer = sizeof kEnd;
  return TRUE;
}

static void skip(j_decompress_ptr jpeg, long count) {
  struct jpeg_source_mgr* source = jpeg->src;
  if (count <= 0) return;
  const size_t taken =
      (size_t)count < source->bytes_in_buffer ? (size_t)count : source->bytes_in_buffer;
  source->next_input_byte += taken;
  source->bytes_in_buffer -= taken;
}

static void initialize(decoder_t* d, const uint8_t* bytes, size_t size) {
  jpeg_create_decompress(&d->jpeg);
  d->source = (struct jpeg_source_mgr){.next_input_byte = bytes,
                                       .bytes_in_buffer = size,
                                       .init_source = begin,
                                       .fill_input_buffer = fill,
                                       .skip_input_data = skip,
                                       .resync_to_restart = jpeg_resync_to_restart,
                                       .term_source = end};
  d->jpeg.src = &d->source;
}

// ---- The head -----------------------------------------------------------------------------------

static void fail(decoder_t* d) { ERREXIT(&d->jpeg, JERR_BAD_LENGTH); }

static void choose_colours(decoder_t* d) {
  j_decompress_ptr jpeg = &d->jpeg;
  int channels = d->file->channels;
  if (channels == 0) channels = jpeg->num_components < 3 ? jpeg->num_components : 3;
  if (channels != 1 && channels != 3) fail(d);
  const bool is_cmyk =
      jpeg->jpeg_color_space == JCS_CMYK || jpeg->jpeg_color_space == JCS_YCCK;
  jpeg->out_color_space = channels == 1 ? JCS_GRAYSCALE : is_cmyk ? JCS_CMYK : JCS_RGB;
  d->components = channels == 1 ? 1 : is_cmyk ? 4 : 3;
  d->size.channels = channels;
}

static bool is_within(int begin, int length, JDIMENSION size) {
  return begin >= 0 && length > 0 && (int64_t)begin + length <= (int64_t)size;
}

// Moves libjpeg to the window. It begins at a border of blocks, |skipped| pixels too early.
static void crop(decoder_t* d) {
  const leat_jpeg_file_t* file = d->file;
  JDIMENSION left = (JDIMENSION)file->crop_x, width = (JDIMENSION)file->crop_width;
  jpeg_crop_scanline(&d->jpeg, &left, &width);
  d->skipped = (JDIMENSION)file->crop_x - left;
  const JDIMENSION top = (JDIMENSION)file->crop_y;
  if (jpeg_skip_scanlines(&d->jpeg, top) != top) fail(d);
}

static void read_head(decoder_t* d) {
  j_decompress_ptr jpeg = &d->jpeg;
  const leat_jpeg_file_t* file = d->file;
  if (jpeg_read_header(jpeg, TRUE) != JPEG_HEADER_OK) fail(d);
  choose_colours(d);
  jpeg->do_fancy_upsampling = file->fancy_upscaling;
  jpeg->dct_method = file->accurate_dct ? JDCT_ISLOW : JDCT_IFAST;
  jpeg->scale_num = 1;
  jpeg->scale_denom = (unsigned)file->ratio;
  jpeg_calc_output_dimensions(jpeg);
  d->size.frames = 1;
  d->size.height = file->crops ? file->crop_height : (int64_t)jpeg->output_height;
  d->size.width = file->crops ? file->crop_width : (int64_t)jpeg->output_width;
  if (file->crops && !(is_within(file->crop_y, file->crop_height, jpeg->output_height) &&
                       is_within(file->crop_x, file->crop_width, jpeg->output_width))) {
    fail(d);
  }
  if (d->size.height * d->size.width * d->size.channels >= MOST_BYTES) fail(d);
}

// ---- Rows ---------------------------------------------------------------------------------------

// Four colours become three. Files of Adobe's programs have them inverted.
static void from_cmyk(const uint8_t* from, int64_t count, bool is_inverted, uint8_t* to) {
  for (int64_t i = 0; i < count; ++i, from += 4, to += 3) {
    for (int k = 0; k < 3; ++k) {
      to[k] = is_inverted ? (uint8_t)(from[k] * from[3] / 255)
                          : (uint8_t)((255 - from[k]) * (255 - from[3]) / 255);
    }
  }
}

static void read_rows(decoder_t* d) {
  j_decompress_ptr jpeg = &d->jpeg;
  const size_t row_bytes = (size_t)d->size.width * (size_t)d->size.channels;
  for (; d->read < d->size.height; ++d->read) {
    uint8_t* place = d->pixels + (size_t)d->read * row_bytes;
    JSAMPROW row = d->row ? d->row : place;
    if (jpeg_read_scanlines(jpeg, &row, 1) == 0) return;
    if (!d->row) continue;
    const uint8_t* first = d->row + (size_t)d->skipped * (size_t)d->components;
    if (d->components == 4) {
      from_cmyk(first, d->size.width, jpeg->saw_Adobe_marker, place);
    } else {
      memcpy(place, first, row_bytes);
    }
  }
}

// What stands in rows that the file does not have.
static void fill_missing(decoder_t* d) {
  const size_t row_bytes = (size_t)d->size.width * (size_t)d->size.channels;
  for (int64_t y = d->read; y < d->size.height; ++y) {
    uint8_t* place = d->pixels + (size_t)y * row_bytes;
    if (d->file->recover_truncated && y > 0) {
      memcpy(place, place - row_bytes, row_bytes);
    } else {
      memset(place, 0, row_bytes);
    }
  }
}

// Not inlined, so that what it changes lies in memory when it is left by a jump.
static __attribute__((noinline)) void decode(decoder_t* d) {
  j_decompress_ptr jpeg = &d->jpeg;
  initialize(d, d->file->bytes, d->file->size);
  read_head(d);
  d->code = LEAT_ABORTED;
  d->pixels = d->target->allocate(d->target->data, &d->size);
  if (!d->pixels) fail(d);
  d->code = LEAT_INVALID_ARGUMENT;
  if (!jpeg_start_decompress(jpeg)) fail(d);
  const size_t wide = (size_t)jpeg->output_width * (size_t)d->components;
  if (d->file->crops || d->components == 4) {
    d->row = malloc(wide);
    if (!d->row) ERREXIT1(jpeg, JERR_OUT_OF_MEMORY, 0);
  }
  if (d->file->crops) crop(d);
  read_rows(d);
  const float fraction = (float)d->read / (float)d->size.height;
  if (d->read < d->size.height && !d->file->recover_truncated &&
      fraction < d->file->acceptable_fraction) {
    fail(d);
  }
  fill_missing(d);
  d->code = LEAT_OK;
}

static void deinitialize(decoder_t* d) {
  jpeg_destroy_decompress(&d->jpeg);
  free(d->row);
}

int leat_jpeg_module_decode(const leat_jpeg_file_t* file, const leat_image_target_t* target) {
  decoder_t d = {.file = file, .target = target, .code = LEAT_INVALID_ARGUMENT};
  d.jpeg.err = leat_jpeg_errors_initialize(&d.errors);
  if (!setjmp(d.errors.jump)) decode(&d);
  deinitialize(&d);
  return d.errors.out_of_memory ? LEAT_RESOURCE_EXHAUSTED : d.code;
}

static __attribute__((noinline)) void read_size(decoder_t* d) {
  initialize(d, d->file->bytes, d->file->size);
  if (jpeg_read_header(&d->jpeg, TRUE) != JPEG_HEADER_OK) fail(d);
  d->size = (leat_image_size_t){1, d->jpeg.image_height, d->jpeg.image_width,
                                d->jpeg.num_components};
  d->code = LEAT_OK;
}

int leat_jpeg_module_read_size(const uint8_t* bytes, size_t size, leat_image_size_t* out_size) {
  const leat_jpeg_file_t file = {.bytes = bytes, .size = size};
  decoder_t d = {.file = &file, .code = LEAT_INVALID_ARGUMENT};
  d.jpeg.err = leat_jpeg_errors_initialize(&d.errors);
  if (!setjmp(d.errors.jump)) read_size(&d);
  *out_size = d.size;
  deinitialize(&d);
  return d.code;
}
