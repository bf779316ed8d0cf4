/* Registers of the chip that the bare port uses. Chip reference manual. */
#ifndef EMU_PORT_CHIP_H
#define EMU_PORT_CHIP_H

#include <stdint.h>

#define REG(address) (*(volatile uint32_t *)(address))

#define UART0_FIFO REG(0x60000000u)
#define UART0_INT_RAW REG(0x60000004u)
#define UART0_INT_CLR REG(0x60000010u)
#define UART0_CLKDIV REG(0x60000014u)
#define UART0_STATUS REG(0x6000001Cu)
#define UART0_FSM_STATUS REG(0x6000006Cu)
#define UART0_CLK_CONF REG(0x60000078u)
#define UART_RXFIFO_OVF (1u << 4)

#define RTC_WDT_CONFIG0 REG(0x60008098u)
#define RTC_WDT_PROTECT REG(0x600080B0u)
#define RTC_SWD_CONF REG(0x600080B4u)
#define RTC_SWD_PROTECT REG(0x600080B8u)
#define TG0_WDT_CONFIG0 REG(0x6001F048u)
#define TG0_WDT_PROTECT REG(0x6001F064u)
#define TG1_WDT_CONFIG0 REG(0x60020048u)
#define TG1_WDT_PROTECT REG(0x60020064u)
#define WDT_KEY 0x50D83AA1u
#define SWD_KEY 0x8F1D312Au
#define SWD_AUTO_FEED (1u << 31)

#define SYSTIMER_OP REG(0x60023004u)
#define SYSTIMER_LOW REG(0x60023044u)
#define SYSTIMER_UPDATE (1u << 30)
#define SYSTIMER_VALID (1u << 29)
#define SYSTIMER_HERTZ 16000000u

#define DCACHE_CTRL1 REG(0x600C4004u)
#define DCACHE_SHUT_CORE0 1u

#define EFUSE_MAC_LOW REG(0x60007044u)
#define EFUSE_MAC_HIGH REG(0x60007048u)
#define RANDOM REG(0x6003507Cu) /* ESP-IDF: soc/esp32s3/include/soc/wdev_reg.h; 0x600260B0 is that of other chips */

static inline uint32_t cycle_count(void)
{
    uint32_t value;
    __asm__ volatile("rsr.ccount %0" : "=a"(value));
    return value;
}

#endif
