// libjpeg's encoder with TensorFlow's settings: quality, progressive scans, optimized tables,
// density, downsampled colours and XMP metadata. Bytes go through one buffer of the stack to the
// caller's function, so that a file is never held twice. libjpeg reports errors by a jump; setjmp()
// is called in the one function that has nothing to release but libjpeg's own state. A jump is also
// how the encoding ends when the caller's function says that there is no room. The status tells
// that case, and running out of memory, from every other error.
#include "modules/jpeg/jpeg_codec.h"

#include <string.h>

#define BUFFER_BYTES 16384

// |destination| is first: libjpeg gives its address to the three functions below.
typedef struct encoder_s {
  struct jpeg_destination_mgr destination;
  struct jpeg_compress_struct jpeg;
  leat_jpeg_errors_t errors;
  leat_jpeg_write_fn_t write;
  void* data;
  bool is_full;
  uint8_t buffer[BUFFER_BYTES];
} encoder_t;

static void begin(j_compress_ptr jpeg) {
  encoder_t* e = (encoder_t*)jpeg->dest;
  e->destination.next_output_byte = e->buffer;
  e->destination.free_in_buffer = BUFFER_BYTES;
}

static void put(encoder_t* e, size_t size) {
  if (e->write(e->data, e->buffer, size)) return;
  e->is_full = true;
  longjmp(e->errors.jump, 1);
}

static boolean empty_buffer(j_compress_ptr jpeg) {
  put((encoder_t*)jpeg->dest, BUFFER_BYTES);
  begin(jpeg);
  return TRUE;
}

static void end(j_compress_ptr jpeg) {
  encoder_t* e = (encoder_t*)jpeg->dest;
  put(e, BUFFER_BYTES - e->destination.free_in_buffer);
}

static void set_parameters(j_compress_ptr jpeg, const leat_jpeg_image_t* image) {
  jpeg->image_width = (JDIMENSION)image->width;
  jpeg->image_height = (JDIMENSION)image->height;
  jpeg->input_components = image->channels;
  jpeg->in_color_space = image->channels == 1 ? JCS_GRAYSCALE : JCS_RGB;
  jpeg_set_defaults(jpeg);
  if (image->optimize_size) jpeg->optimize_coding = TRUE;
  jpeg->density_unit = image->per_centimetre ? 2 : 1;
  jpeg->X_density = (UINT16)image->x_density;
  jpeg->Y_density = (UINT16)image->y_density;
  jpeg_set_quality(jpeg, image->quality, TRUE);
  if (image->progressive) jpeg_simple_progression(jpeg);
  for (int i = 0; !image->chroma_downsampling && i < jpeg->num_components; ++i) {
    jpeg->comp_info[i].h_samp_factor = jpeg->comp_info[i].v_samp_factor = 1;
  }
}

// XMP metadata are a marker that begins with the name of their format.
static void write_metadata(j_compress_ptr jpeg, const leat_jpeg_image_t* image) {
  static const char kName[] = "http://ns.adobe.com/xap/1.0/";
  if (image->xmp_size == 0) return;
  jpeg_write_m_header(jpeg, JPEG_APP0 + 1, (unsigned)(sizeof kName + image->xmp_size));
  for (size_t i = 0; i < sizeof kName; ++i) jpeg_write_m_byte(jpeg, kName[i]);
  for (size_t i = 0; i < image->xmp_size; ++i) jpeg_write_m_byte(jpeg, (uint8_t)image->xmp[i]);
}

// Not inlined, so that what it changes lies in memory when it is left by a jump.
static __attribute__((noinline)) void encode(encoder_t* e, const leat_jpeg_image_t* image) {
  j_compress_ptr jpeg = &e->jpeg;
  jpeg_create_compress(jpeg);
  jpeg->dest = &e->destination;
  set_parameters(jpeg, image);
  jpeg_start_compress(jpeg, TRUE);
  write_metadata(jpeg, image);
  const size_t row_bytes = (size_t)image->width * (size_t)image->channels;
  while (jpeg->next_scanline < jpeg->image_height) {
    JSAMPROW row = (JSAMPROW)(image->pixels + jpeg->next_scanline * row_bytes);
    jpeg_write_scanlines(jpeg, &row, 1);
  }
  jpeg_finish_compress(jpeg);
}

int leat_jpeg_module_encode(const leat_jpeg_image_t* image, leat_jpeg_write_fn_t write,
                            void* data) {
  encoder_t e = {.destination = {.init_destination = begin,
                                 .empty_output_buffer = empty_buffer,
                                 .term_destination = end},
                 .write = write,
                 .data = data};
  // What a marker's length can say, less that of the name.
  if (image->xmp_size > 65000) return LEAT_INVALID_ARGUMENT;
  e.jpeg.err = leat_jpeg_errors_initialize(&e.errors);
  if (setjmp(e.errors.jump)) {
    jpeg_destroy_compress(&e.jpeg);
    return e.is_full || e.errors.out_of_memory ? LEAT_RESOURCE_EXHAUSTED : LEAT_INTERNAL;
  }
  encode(&e, image);
  jpeg_destroy_compress(&e.jpeg);
  return LEAT_OK;
}
