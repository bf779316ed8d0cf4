/* Written by tools/agent_probes.py from emu/link/probes.py. */
#ifndef EMU_AGENT_PROBES_H
#define EMU_AGENT_PROBES_H

#define PROBE_INDEXED 46u /* reads behind its scratch memory */
#define PROBE_EXTENTS ",272,528a45>47a>*262144*+"

#endif
