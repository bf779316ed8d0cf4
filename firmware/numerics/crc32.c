/* CRC-32 with the reversed polynomial 0xEDB88320, as zlib.crc32. */
#include "emu_kernels.h"

/* A table of nibbles: a byte table would be faster but take 1 KB of the RAM that the kernels share. */
static const uint32_t crc_of_nibble[16] = {
    0x00000000u, 0x1DB71064u, 0x3B6E20C8u, 0x26D930ACu, 0x76DC4190u, 0x6B6B51F4u, 0x4DB26158u, 0x5005713Cu,
    0xEDB88320u, 0xF00F9344u, 0xD6D6A3E8u, 0xCB61B38Cu, 0x9B64C2B0u, 0x86D3D2D4u, 0xA00AE278u, 0xBDBDF21Cu,
};

uint32_t crc32_bytes(uint32_t crc, const uint8_t *data, int32_t n)
{
    crc = ~crc;
    for (int32_t i = 0; i < n; i++) {
        crc ^= data[i];
        crc = (crc >> 4) ^ crc_of_nibble[crc & 15u];
        crc = (crc >> 4) ^ crc_of_nibble[crc & 15u];
    }
    return ~crc;
}
