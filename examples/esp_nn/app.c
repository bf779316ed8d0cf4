/* The rest of an application that uses ESP-NN, as small as it can be: working memory, and a stand-in for printf, which
 * emu serves.
 */
#include <stdint.h>

#define MAY_BE_MISSING __attribute__((weak)) /* from older releases */

extern MAY_BE_MISSING void esp_nn_set_conv_scratch_buf_esp32s3(void *buffer);
extern MAY_BE_MISSING void esp_nn_set_depthwise_conv_scratch_buf_esp32s3(void *buffer);
extern MAY_BE_MISSING void esp_nn_set_softmax_scratch_buf_esp32s3(void *buffer);
extern MAY_BE_MISSING void esp_nn_set_mean_scratch_buf_esp32s3(void *buffer);

static int8_t scratch[64 * 1024] __attribute__((aligned(16)));

/* what a caller does once; `setup` of the specs */
void give_scratch(void)
{
    if (esp_nn_set_conv_scratch_buf_esp32s3)
        esp_nn_set_conv_scratch_buf_esp32s3(scratch);
    if (esp_nn_set_depthwise_conv_scratch_buf_esp32s3)
        esp_nn_set_depthwise_conv_scratch_buf_esp32s3(scratch);
    if (esp_nn_set_softmax_scratch_buf_esp32s3)
        esp_nn_set_softmax_scratch_buf_esp32s3(scratch);
    if (esp_nn_set_mean_scratch_buf_esp32s3)
        esp_nn_set_mean_scratch_buf_esp32s3(scratch);
}

__attribute__((noipa)) int printf(const char *format, ...) { return *(volatile const char *)format; }

void app_main(void) { give_scratch(); }
