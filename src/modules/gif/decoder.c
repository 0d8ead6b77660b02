// giflib's decoder: the frames of a file as RGB. giflib gives indices of colours; a frame may cover
// a part of the picture only and have pixels that let the frame before it show through.
//
// The records of a file are read one by one, rather than by giflib's DGifSlurp, because that leaves
// open which frame was read in part: of a file that breaks off, the frames that are whole are
// taken, as TensorFlow does. Nothing of giflib's is left when the function returns, and the pixels
// are written where the caller's target says, once their number is known.
#include <gif_lib.h>
#include <stdlib.h>
#include <string.h>

#include "formats/media/gif_module.h"

#define TEXT_OF(x) #x
#define TEXT(x) TEXT_OF(x)
// No frame has more pixels.
#define MOST_PIXELS ((int64_t)1 << 29)

typedef struct source_s {
  const uint8_t* bytes;
  size_t left;
} source_t;

static int read_bytes(GifFileType* gif, GifByteType* bytes, int count) {
  source_t* source = gif->UserData;
  const size_t taken = (size_t)count < source->left ? (size_t)count : source->left;
  memcpy(bytes, source->bytes, taken);
  source->bytes += taken;
  source->left -= taken;
  return (int)taken;
}

// ---- Records ------------------------------------------------------------------------------------

// What has been read. The rasters of whole frames are those of giflib's first |whole| saved images.
typedef struct reading_s {
  GifFileType* gif;
  int whole;
  int transparent;    // the colour of the next frame through which the one before it shows
  int* transparents;  // [whole]
} reading_t;

// Reads the pixels of the newest frame, which giflib has appended to its saved images and frees.
static bool read_raster(GifFileType* gif) {
  static const struct {
    int first, step;
  } kPasses[] = {{0, 8}, {4, 8}, {2, 4}, {1, 2}};
  SavedImage* image = &gif->SavedImages[gif->ImageCount - 1];
  const int64_t height = image->ImageDesc.Height, width = image->ImageDesc.Width;
  if (height * width == 0 || height * width >= MOST_PIXELS) return false;
  image->RasterBits = malloc((size_t)(height * width));
  if (!image->RasterBits) {
    gif->Error = D_GIF_ERR_NOT_ENOUGH_MEM;
    return false;
  }
  const bool interlaced = image->ImageDesc.Interlace;
  for (int pass = 0; pass < (interlaced ? 4 : 1); ++pass) {
    const int step = interlaced ? kPasses[pass].step : 1;
    for (int64_t y = interlaced ? kPasses[pass].first : 0; y < height; y += step) {
      if (DGifGetLine(gif, image->RasterBits + y * width, (int)width) != GIF_OK) return false;
    }
  }
  return true;
}

static bool read_frame(reading_t* r) {
  if (DGifGetImageDesc(r->gif) != GIF_OK || !read_raster(r->gif)) return false;
  int* grown = realloc(r->transparents, (size_t)(r->whole + 1) * sizeof *grown);
  if (!grown) {
    r->gif->Error = D_GIF_ERR_NOT_ENOUGH_MEM;
    return false;
  }
  r->transparents = grown;
  r->transparents[r->whole++] = r->transparent;
  r->transparent = NO_TRANSPARENT_COLOR;
  return true;
}

// Of extensions only the one that says which colour is transparent matters. |data| begins with its
// length.
static bool read_extension(reading_t* r) {
  GifByteType* data;
  int code;
  GraphicsControlBlock block;
  if (DGifGetExtension(r->gif, &code, &data) != GIF_OK) return false;
  if (code == GRAPHICS_EXT_FUNC_CODE && data &&
      DGifExtensionToGCB(data[0], data + 1, &block) == GIF_OK) {
    r->transparent = block.TransparentColor;
  }
  while (data) {
    if (DGifGetExtensionNext(r->gif, &data) != GIF_OK) return false;
  }
  return true;
}

// Reads all records; false where the file breaks off.
static bool read_records(reading_t* r) {
  for (;;) {
    GifRecordType type;
    if (DGifGetRecordType(r->gif, &type) != GIF_OK) return false;
    if (type == TERMINATE_RECORD_TYPE) return true;
    if (type == IMAGE_DESC_RECORD_TYPE && !read_frame(r)) return false;
    if (type == EXTENSION_RECORD_TYPE && !read_extension(r)) return false;
  }
}

// ---- Pictures -----------------------------------------------------------------------------------

typedef struct rgb_picture_s {
  uint8_t* pixels;        // [height, width, 3] of the frame
  const uint8_t* before;  // the frame before it; NULL: black
  int64_t height, width;
} rgb_picture_t;

// Draws a frame into |picture|. Returns why not, or NULL.
static const char* draw(const reading_t* r, int index, const rgb_picture_t* picture) {
  const SavedImage* image = &r->gif->SavedImages[index];
  const GifImageDesc* frame = &image->ImageDesc;
  const ColorMapObject* colours = frame->ColorMap ? frame->ColorMap : r->gif->SColorMap;
  const int transparent = r->transparents[index];
  const size_t bytes = (size_t)picture->height * (size_t)picture->width * 3;
  if (!colours) return "missing color map for frame";
  if (picture->before) {
    memcpy(picture->pixels, picture->before, bytes);
  } else {
    memset(picture->pixels, 0, bytes);
  }
  for (int64_t y = 0; y < frame->Height && y + frame->Top < picture->height; ++y) {
    const GifByteType* from = image->RasterBits + y * frame->Width;
    uint8_t* to = picture->pixels + ((y + frame->Top) * picture->width + frame->Left) * 3;
    for (int64_t x = 0; x < frame->Width && x + frame->Left < picture->width; ++x, to += 3) {
      if (from[x] == transparent) continue;
      if (from[x] >= colours->ColorCount) return "found color index outside of color map range";
      const GifColorType colour = colours->Colors[from[x]];
      to[0] = colour.Red;
      to[1] = colour.Green;
      to[2] = colour.Blue;
    }
  }
  return NULL;
}

// The frames that are whole, at most |most|, and the size of the largest.
static leat_image_size_t measure(const reading_t* r, int64_t most) {
  leat_image_size_t size = {.channels = 3, .frames = r->whole < most ? r->whole : most};
  for (int i = 0; i < r->whole; ++i) {
    const GifImageDesc* frame = &r->gif->SavedImages[i].ImageDesc;
    if (frame->Height > size.height) size.height = frame->Height;
    if (frame->Width > size.width) size.width = frame->Width;
  }
  return size;
}

static int draw_all(const reading_t* r, int64_t most_frames, const leat_image_target_t* target,
                    const char** out_reason) {
  const leat_image_size_t size = measure(r, most_frames);
  rgb_picture_t picture = {.height = size.height, .width = size.width};
  picture.pixels = target->allocate(target->data, &size);
  if (!picture.pixels) return LEAT_ABORTED;
  for (int i = 0; i < size.frames && !*out_reason; ++i) {
    *out_reason = draw(r, i, &picture);
    picture.before = picture.pixels;
    picture.pixels += size.height * size.width * 3;
  }
  return *out_reason ? LEAT_INVALID_ARGUMENT : LEAT_OK;
}

static int decode(const uint8_t* bytes, size_t size, int64_t most_frames,
                  const leat_image_target_t* target, const char** out_reason) {
  source_t source = {bytes, size};
  int error = 0, code = LEAT_INVALID_ARGUMENT;
  *out_reason = NULL;
  reading_t r = {.gif = DGifOpen(&source, read_bytes, &error),
                 .transparent = NO_TRANSPARENT_COLOR};
  if (r.gif && (read_records(&r) || r.whole > 0)) {
    if (r.whole > 0) {
      code = draw_all(&r, most_frames, target, out_reason);
    } else {
      *out_reason = "gif file does not contain any image";
    }
  } else {
    if (r.gif) error = r.gif->Error;
    *out_reason = GifErrorString(error);
    if (error == D_GIF_ERR_NOT_ENOUGH_MEM) code = LEAT_RESOURCE_EXHAUSTED;
  }
  free(r.transparents);
  if (r.gif) DGifCloseFile(r.gif, &error);
  return code;
}

__attribute__((visibility("default"))) const leat_gif_module_t* leat_module_gif(void) {
  static const leat_gif_module_t kModule = {
      .struct_size = sizeof(leat_gif_module_t),
      .version = TEXT(GIFLIB_MAJOR) "." TEXT(GIFLIB_MINOR) "." TEXT(GIFLIB_RELEASE),
      .decode = decode,
  };
  return &kModule;
}
