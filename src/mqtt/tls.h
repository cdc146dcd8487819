/* TLS of a connection to a broker: trusted certificates, and the name that is verified. */
#ifndef FLEET_MQTT_TLS_H
#define FLEET_MQTT_TLS_H

#include "mqtt/broker.h"

/* Makes a connection that is not open yet use TLS. The broker's certificate must be for o->host, whichever of
 * its addresses is connected to. o->host must live as long as the connection. */
bool tls_use(struct mosquitto *handle, const struct broker_options *o, struct err *e);

#endif
