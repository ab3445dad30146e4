import { createContext, useContext } from "react";
import type { KeyframeClient } from "../../../client/index.ts";
import type { Services } from "../services.ts";

export const ServicesContext = createContext<Services | null>(null);

export function useServices(): Services {
  const services = useContext(ServicesContext);
  if (services === null) throw new Error("useServices is for what stands inside App.");
  return services;
}

/** The API, as the person who is signed in. */
export const useKeyframe = (): KeyframeClient => useServices().keyframe;
