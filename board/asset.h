// The files of the page, which are part of the program: board/page/page.html, page.css and built/
// page.js. The build makes their table (cmake/LeatEmbed.cmake).
#ifndef LEAT_BOARD_ASSET_H_
#define LEAT_BOARD_ASSET_H_

#include <stddef.h>

typedef struct board_asset_s {
  const char* name;  // "page.js"
  const unsigned char* data;
  size_t size;
  const unsigned char* gzip;  // the same, compressed
  size_t gzip_size;
} board_asset_t;

// Ends with an asset without a name.
extern const board_asset_t board_assets[];

#endif  // LEAT_BOARD_ASSET_H_
