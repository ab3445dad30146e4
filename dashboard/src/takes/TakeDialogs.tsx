import { useLast } from "../ui/dialog-focus.ts";
import { PLAYING_ORDER } from "./status-words.ts";
import { TakesDrawer } from "./TakesDrawer.tsx";
import { TakeDialog } from "./TakeDialog.tsx";
import type { TakesProps } from "./use-takes.ts";

export default function TakeDialogs(about: TakesProps) {
  const { listed, enlarged, show } = about.view;
  const step = useLast(PLAYING_ORDER.find((one) => one === listed) ?? null);
  const ids = useLast(enlarged);
  const isListed = listed !== null && step !== null;
  return (
    <>
      {/* The drawer is always mounted: a dialog is above those that were mounted before it. */}
      <TakesDrawer {...about} step={step ?? "video"} isOpen={isListed} onClose={() => show({ takes: null })} />
      {ids !== null && (
        <TakeDialog {...about} ids={ids.split(",")} isOpen={enlarged !== null} onClose={() => show({ take: null })} />
      )}
    </>
  );
}
