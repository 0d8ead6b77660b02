// MNIST's own files: big-endian counts, then bytes (http://yann.lecun.com/exdb/mnist describes it).
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "mnist.h"

static uint32_t big_endian(const unsigned char* b) {
  return (uint32_t)b[0] << 24 | (uint32_t)b[1] << 16 | (uint32_t)b[2] << 8 | b[3];
}

// Opens <directory>/<part>-<what> and reads its header of |words| counts.
static gzFile open_idx(const char* directory, const char* part, const char* what, int words,
                       uint32_t* header) {
  char path[1024];
  unsigned char bytes[16];
  snprintf(path, sizeof path, "%s/%s-%s.gz", directory, part, what);
  gzFile file = gzopen(path, "rb");
  if (!file) return NULL;
  if (gzread(file, bytes, (unsigned)words * 4) != words * 4) {
    gzclose(file);
    return NULL;
  }
  for (int i = 0; i < words; ++i) header[i] = big_endian(bytes + 4 * i);
  return file;
}

static int read_pixels(gzFile file, dataset_t* out) {
  unsigned char row[PIXELS];
  for (int i = 0; i < out->count; ++i) {
    if (gzread(file, row, PIXELS) != PIXELS) return 0;
    for (int k = 0; k < PIXELS; ++k) out->pixels[(size_t)i * PIXELS + k] = (float)row[k] / 255;
  }
  return 1;
}

static int read_labels(gzFile file, dataset_t* out) {
  for (int i = 0; i < out->count; ++i) {
    int label = gzgetc(file);
    if (label < 0 || label >= CLASSES) return 0;
    out->labels[i] = label;
  }
  return 1;
}

int idx_read(const char* directory, const char* part, dataset_t* out) {
  uint32_t images[4] = {0}, labels[2] = {0};
  gzFile image_file = open_idx(directory, part, "images-idx3-ubyte", 4, images);
  gzFile label_file = open_idx(directory, part, "labels-idx1-ubyte", 2, labels);
  int ok = image_file && label_file && images[0] == 0x803 && labels[0] == 0x801 &&
           images[1] == labels[1] && images[2] == SIDE && images[3] == SIDE;
  if (ok) {
    out->count = (int)images[1];
    out->pixels = malloc((size_t)out->count * PIXELS * sizeof(float));
    out->labels = malloc((size_t)out->count * sizeof(int32_t));
    ok = out->pixels && out->labels && read_pixels(image_file, out) &&
         read_labels(label_file, out);
    if (!ok) dataset_free(out);
  }
  if (image_file) gzclose(image_file);
  if (label_file) gzclose(label_file);
  return ok;
}
