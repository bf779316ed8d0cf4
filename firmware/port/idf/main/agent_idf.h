/* What the parts of the ESP-IDF port call of each other. */
#ifndef EMU_AGENT_IDF_H
#define EMU_AGENT_IDF_H

#include <stdint.h>
#include "agent.h"
#include "agent_port.h"
#include "sdkconfig.h"

void line_start(void);
/* Waits until bytes have come. */
void line_wait(void);
/* The second core's task. */
void cores_start(void);
emu_par cores_par;
void cluster_start(void);
/* Why the board was reset; fills *fault for a kernel that did it. enum wire_reason. */
uint32_t board_reason(struct agent_fault *fault);

#endif
