import { type ComponentType, lazy, Suspense } from "react";
import { HashRouter, Navigate, Route, Routes } from "react-router";
import { SignedIn, SignedOut } from "../session/Guards.tsx";
import { Missing } from "../ui/PageParts.tsx";
import { Layout } from "./Layout.tsx";

/** Loads a page when it is first opened. */
function page(load: () => Promise<{ default: ComponentType }>) {
  const Page = lazy(load);
  return <Page />;
}

const NOTHING_HERE = "The address is wrong or the page was deleted.";
const notFound = <Missing title="Page not found" text={NOTHING_HERE} to="/projects" label="Go to projects" />;

const routes = (
  <Routes>
    <Route path="/shared/:token" element={page(() => import("../films/SharedFilmPage.tsx"))} />
    <Route element={<SignedOut />}>
      <Route path="/sign-in" element={page(() => import("../session/SignInPage.tsx"))} />
      <Route path="/sign-up" element={page(() => import("../session/SignUpPage.tsx"))} />
      <Route path="/reset-password" element={page(() => import("../session/ResetPasswordPage.tsx"))} />
    </Route>
    <Route element={<SignedIn />}>
      <Route path="/new-password" element={page(() => import("../session/NewPasswordPage.tsx"))} />
      <Route element={<Layout />}>
        <Route index element={<Navigate to="/projects" replace />} />
        <Route path="/projects" element={page(() => import("../projects/ProjectsPage.tsx"))} />
        <Route path="/projects/:projectId" element={page(() => import("../projects/ProjectPage.tsx"))} />
        <Route path="/films" element={page(() => import("../films/FilmsPage.tsx"))} />
        <Route path="/films/:filmId" element={page(() => import("../films/FilmPage.tsx"))} />
        <Route path="/elements" element={page(() => import("../elements/ElementsPage.tsx"))} />
        <Route path="/webhooks" element={page(() => import("../webhooks/WebhooksPage.tsx"))} />
        <Route path="/webhooks/:webhookId" element={page(() => import("../webhooks/WebhookPage.tsx"))} />
        <Route path="/keys" element={page(() => import("../keys/KeysPage.tsx"))} />
        <Route path="/usage" element={page(() => import("../usage/UsagePage.tsx"))} />
        <Route path="*" element={notFound} />
      </Route>
    </Route>
  </Routes>
);

/** Routes are behind the #, so any static host can serve the dashboard. */
export function Pages() {
  return (
    <HashRouter>
      <Suspense>{routes}</Suspense>
    </HashRouter>
  );
}
