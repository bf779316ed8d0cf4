/* Messages between boards by ESP-NOW. All boards of a cluster speak the same version of it. */
#ifndef EMU_CLUSTER_H
#define EMU_CLUSTER_H

#include <stdint.h>

/* Called in the Wi-Fi task; the message is there until it returns. */
typedef void cluster_message(const uint8_t mac[6], const uint8_t *message, uint32_t size);

void cluster_on_message(cluster_message *function);
int cluster_add_peer(const uint8_t mac[6]);
/* 0: every fragment was handed to the radio. */
int cluster_send(const uint8_t mac[6], const uint8_t *message, uint32_t size);

#endif
