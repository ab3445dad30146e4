import { Component, type ReactNode } from "react";
import { Crashed } from "./Crashed.tsx";

type Props = { children: ReactNode };

/** Stands around what may break: a fault of ours, or a part of the dashboard that could not be loaded. */
export class CrashBoundary extends Component<Props, { error: Error | null }> {
  override state = { error: null as Error | null };

  static getDerivedStateFromError(error: unknown) {
    return { error: error instanceof Error ? error : new Error(String(error)) };
  }

  override render() {
    const { error } = this.state;
    return error === null ? this.props.children : <Crashed error={error} />;
  }
}
