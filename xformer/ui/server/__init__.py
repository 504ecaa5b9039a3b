"""What serves the page and is not seen: middleware, sessions, the API, what is private
in Gradio."""
