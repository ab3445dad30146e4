import { type Icon, IconAlertTriangle, IconCheck, IconClockHour4, IconRefresh } from "../../ui/Icons.tsx";
import classes from "../health.module.css";
import type { DeliveryStateKind } from "./delivery.ts";

const ICON: Record<DeliveryStateKind, Icon> = {
  waiting: IconClockHour4,
  retrying: IconRefresh,
  delivered: IconCheck,
  exhausted: IconAlertTriangle,
};

export function OutcomeIcon({ kind, size = 16 }: { kind: DeliveryStateKind; size?: number }) {
  const Mark = ICON[kind];
  return <Mark size={size} aria-hidden className={classes[kind]} style={{ flexShrink: 0 }} />;
}
