export type SimulatorOptions = {
  /** 0, the default, takes any free port. */
  port?: number;
  token?: string;
  webhookSecret?: string;
  /** Milliseconds a prediction stays in `starting`, and runs in addition to the drawing. Both 0 by default. */
  startDelayMs?: number;
  runDelayMs?: number;
  /** Milliseconds before each repetition of a callback that got no 2xx. */
  callbackRetryMs?: readonly number[];
  /** Width of a 16:9 image or video in pixels, 640 by default. */
  imageWidth?: number;
  fetch?: typeof fetch;
};

/** `baseUrl` is known once the server listens. */
export type SimulatorSettings = Required<Omit<SimulatorOptions, "port">> & { baseUrl: () => string };
