/* Bytes to and from the host, by the drivers themselves: no console, so nothing converts line ends. */
#include "driver/uart.h"
#include "driver/usb_serial_jtag.h"
#include "freertos/FreeRTOS.h"
#include "freertos/queue.h"
#include "freertos/task.h"
#include "agent_idf.h"

#define BUFFER_BYTES 8192
#define EVENTS 16

#if CONFIG_EMU_LINE_UART0

static QueueHandle_t events;
static uint32_t lost;

void line_start(void)
{
    const uart_config_t config = {
        .baud_rate = CONFIG_EMU_BAUD,
        .data_bits = UART_DATA_8_BITS,
        .parity = UART_PARITY_DISABLE,
        .stop_bits = UART_STOP_BITS_1,
        .flow_ctrl = UART_HW_FLOWCTRL_DISABLE,
        .source_clk = UART_SCLK_XTAL, /* the speed does not change with the processor's clock */
    };
    ESP_ERROR_CHECK(uart_driver_install(UART_NUM_0, BUFFER_BYTES, BUFFER_BYTES, EVENTS, &events, 0));
    ESP_ERROR_CHECK(uart_param_config(UART_NUM_0, &config));
}

void line_wait(void)
{
    uart_event_t event;
    if (xQueueReceive(events, &event, portMAX_DELAY) && (event.type == UART_FIFO_OVF || event.type == UART_BUFFER_FULL))
        lost++;
}

uint32_t agent_port_read(uint8_t *to, uint32_t capacity)
{
    int n = uart_read_bytes(UART_NUM_0, to, capacity, 0);
    return n > 0 ? (uint32_t)n : 0;
}

void agent_port_write(const uint8_t *data, uint32_t size)
{
    uart_write_bytes(UART_NUM_0, data, size);
}

uint32_t agent_port_lost(void)
{
    return lost;
}

int agent_port_baud(uint32_t baud)
{
    uart_wait_tx_done(UART_NUM_0, portMAX_DELAY);
    return uart_set_baudrate(UART_NUM_0, baud) == ESP_OK ? 0 : 1;
}

uint32_t agent_port_speed(void)
{
    uint32_t baud = 0;
    uart_get_baudrate(UART_NUM_0, &baud);
    return baud;
}

#else

static uint8_t first; /* a byte that line_wait has fetched already */
static uint32_t has_first;

void line_start(void)
{
    usb_serial_jtag_driver_config_t config = {.tx_buffer_size = BUFFER_BYTES, .rx_buffer_size = BUFFER_BYTES};
    ESP_ERROR_CHECK(usb_serial_jtag_driver_install(&config));
}

void line_wait(void)
{
    if (!has_first)
        has_first = usb_serial_jtag_read_bytes(&first, 1, portMAX_DELAY) == 1;
}

uint32_t agent_port_read(uint8_t *to, uint32_t capacity)
{
    uint32_t n = has_first;
    if (capacity == 0)
        return 0;
    if (has_first)
        to[0] = first;
    has_first = 0;
    int more = usb_serial_jtag_read_bytes(to + n, capacity - n, 0);
    return n + (more > 0 ? (uint32_t)more : 0);
}

/* A host that does not read must not stop the agent for ever; what is lost then is asked for again. */
void agent_port_write(const uint8_t *data, uint32_t size)
{
    while (size != 0) {
        int n = usb_serial_jtag_write_bytes(data, size, pdMS_TO_TICKS(200));
        if (n <= 0)
            return;
        data += n;
        size -= (uint32_t)n;
    }
}

uint32_t agent_port_lost(void)
{
    return 0;
}

int agent_port_baud(uint32_t baud)
{
    (void)baud;
    return 1;
}

uint32_t agent_port_speed(void)
{
    return 0;
}

#endif
