# The page on a CPU, checkpoints inside. What stands after the name of the image goes to app.py:
#   docker build -t xformer . && docker run --init --rm -p 7860:7860 xformer
FROM python:3.12-slim

# Number 1000, as on Hugging Face; it may read the app, and write in its home and /tmp only.
RUN useradd --create-home --uid 1000 xformer
WORKDIR /app

COPY requirements.txt ./
RUN pip install --no-cache-dir --extra-index-url https://download.pytorch.org/whl/cpu -r requirements.txt

COPY LICENSE app.py ./
COPY assets assets
COPY xformer xformer
COPY checkpoints checkpoints

USER xformer
ENV GRADIO_SERVER_NAME=0.0.0.0 GRADIO_SERVER_PORT=7860 PYTHONUNBUFFERED=1 PYTHONDONTWRITEBYTECODE=1
EXPOSE 7860
HEALTHCHECK --start-period=2m CMD ["python", "-c", "from urllib.request import urlopen; urlopen('http://127.0.0.1:7860/robots.txt')"]
ENTRYPOINT ["python", "app.py"]
